"""Words of column names that speak for a role, in several languages, lower-case and without accents.

Words of six letters and more, and those not in Latin letters, also count inside longer ones.
"""

from __future__ import annotations

__all__ = ["IDENTIFIER", "ILLNESS", "OUTCOME", "PERSON", "QUASI", "SENSITIVE", "WEAK_IDENTIFIER"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


IDENTIFIER = _words(
    """
    ssn email mail phone telephone telefon mobile fax passport passeport pasaporte surname
    lastname firstname forename givenname familyname fullname maidenname middlename nickname
    username vorname nachname familienname prenom nomdefamille apellido apellidos nombre cognome
    sobrenome achternaam voornaam imie nazwisko address adresse direccion indirizzo endereco
    adres street strasse calle nin nhs nir bsn pesel dni nif cpf iban account konto
    insurancenumber medicalrecord licence license licenseplate
    ipaddress ip url passwort password signature photo fingerprint 姓名 身份证
    电话 имя фамилия телефон
    """
)

PERSON = _words(
    """
    patientid patientnr patientnbr patientno patientnum patientnumber patientkey patientcode
    patientennr patientennummer patientenid patnr pid personid personnr personno personnumber
    personkey personnummer personalnummer personalnr personennr personennummer subjectid subjectno
    participantid respondentid memberid clientid customerid customernumber userid employeeid
    studentid pupilid insuredid versichertennummer versichertennr versichertenid kundennummer
    kundennr kundenid mitgliedsnummer probandid numeropatient idpatient idpaciente idpersona mrn
    """
)

QUASI = _words(
    """
    age alter edad eta idade leeftijd wiek birth birthday birthdate dob yob geburt geburtsdatum
    naissance nacimiento nascita nascimento geboorte urodzenia zip zipcode postcode postal plz
    codepostal cap cep postleitzahl postcodes sex gender geschlecht sexe sexo sesso geslacht
    plec race ethnicity ethnic ethnie etnia raza rasse nationality nationalitat nationalite
    nacionalidad nazionalita nacionalidade citizenship staatsangehorigkeit marital civilstatus
    familienstand etatcivil estadocivil statocivile burgerlijke occupation profession beruf
    oficio job jobtitle ocupacion ocupacao occupazione beroep zawod workclass employer
    employment education schooling bildung schulbildung school educacion istruzione escolaridade
    opleiding wyksztalcenie degree region county country land staat state province provinz
    provincia bundesland canton kanton department departement district bezirk municipality
    municipio gemeinde commune comune city town ort stadt ville ciudad citta cidade stad miasto
    residence wohnort place location neighborhood neighbourhood ward tract lat latitude lon lng
    longitude religion konfession language sprache langue idioma household haushalt children
    kinder relationship veteran height weight grosse gewicht taille poids talla peso altezza
    admission admitted aufnahme discharge entlassung visit death
    年龄 性别 邮编 出生 国籍 职业 возраст пол рождения город профессия
    """
)

OUTCOME = _words(
    """
    readmitted readmission rehospitalised rehospitalized wiederaufnahme outcome target response died
    deceased survived survival relapse rezidiv recidivism churn churned defaulted salaryclass
    incomeclass verstorben ergebnis resultat esito desenlace
    """
)

ILLNESS = _words("diag diagnosis diagnoses diagnose diagnostic diagnostico diagnosi icd disease illness")

SENSITIVE = _words(
    """
    diag diagnosis diagnoses diagnose diagnostic diagnostico diagnosi disease illness krankheit maladie
    enfermedad malattia doenca ziekte choroba condition icd symptom treatment behandlung therapy
    therapie medication medikament drug procedure salary gehalt salaire salario stipendio
    salaris wage wages lohn income einkommen revenu ingreso ingresos reddito renda inkomen cost
    costs kosten cout costo custo charge charges price bill debt schulden credit loan balance
    capitalgain capitalloss hiv cancer krebs genotype blood bloodtype result befund score grade
    crime offence conviction sexualorientation party vote 疾病 诊断 收入 工资 диагноз болезнь зарплата
    доход
    """
)

WEAK_IDENTIFIER = _words(
    """
    name nom nome naam id uid uuid guid identifier kennung nummer nr
    """
)
