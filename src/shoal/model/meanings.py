"""What the fields of certificates and receipts mean, each described once, for docs and schemas.

The plan inside a certificate is described in `shoal.model.fields`; here stand only those of its fields that
are told in another way than in a plan.
"""

from __future__ import annotations

from collections.abc import Mapping

from shoal.model.as_run import AsRun
from shoal.model.certificate import Certificate
from shoal.model.figures import Figures
from shoal.model.receipt import Receipt
from shoal.model.series import InRegister, InSeries
from shoal.model.verdict import ColumnLoss, Ruling

__all__ = ["MEANINGS"]

MEANINGS: Mapping[type, Mapping[str, str]] = {
    Certificate: {
        "version": "the version of this format, major and minor; a newer minor one only adds fields",
        "shoal": "the version of Shoal that wrote it",
        "plan": "the plan that was run, with its defaults; hierarchy files, graphs and missing marks by "
        "salted fingerprint",
        "k": "how many records every class holds at least; with a unit, how many persons",
        "method": "how rows were brought together",
        "style": "what a group publishes",
        "seed": "where chance began",
        "records": "how many records came in",
        "published": "how many went out",
        "withheld": "how many were left out",
        "classes": "how many classes the independent check counted in the finished table",
        "smallest_class": "the records of the smallest class",
        "mean_class": "the mean number of records in a class",
        "rules": "what each rule measures in the worst class; of persons (`unit`) only that k holds",
        "objective": "what the method makes small",
        "value": "what it reached, rounded up",
        "bound": "what no release of this very table can beat, rounded down; null where nothing is proved",
        "bound_name": "by which argument",
        "ratio": "value / bound as they stand there, rounded up; 1.2 means: at most 1.2 times what is "
        "unavoidable, whoever computes the release",
        "factor": "how far from the best the method can be on any table; null where nothing is proved",
        "loss": "what was lost in all, rounded up; null where published cells cannot tell",
        "loss_percent": "the same as a share of everything there was to lose, rounded up",
        "told_apart_percent": "of the pairs of records that may differ in a column, the share that its "
        "cells tell apart for sure, on average over the columns, rounded down; compares across kinds",
        "columns": "what was lost by column",
        "more": "sums of squares where means are published, rounded up; what a centre is; digests of the "
        "lookup tables of ids; what pseudonyms link",
        "series": "which release of a series this is; null for a release by itself",
        "release": "SHA-256 of the published file",
        "original": "a salted fingerprint of what came in; the salt is in your private receipt",
    },
    AsRun: {
        "kinds": "How each quasi-identifier was measured, guessed or given.",
        "hierarchies": "By column the text of a builder, or the salted fingerprint of a hierarchy.",
        "graphs": "By column the salted fingerprint of a graph.",
        "missing": "The salted fingerprint of all missing marks; null where there are none.",
    },
    InSeries: {
        "mode": "how releases follow one another",
        "number": "which one this is; the first is 1",
        "before": "SHA-256 of all that the certificate of the former release says; null for the first",
        "register": "what a register says besides; null for a ledger",
    },
    InRegister: {
        "lists": "SHA-256 of the lists",
        "widened": "classes that are wider than their rows need, for what was shown of these before",
        "finer": "persons of whom a finer cell is shown than before",
        "moved": "persons who have left the cells shown of them; whoever moved inside these is not counted",
        "returned": "persons who were not in the release before, but in an earlier one",
        "schools": "how many lists there are",
        "new": "how many of them were listed now",
        "entries": "how many entries they hold",
        "entries_of_leavers": "how many of these belong to no line of this release",
        "unlisted": "lines without a school",
        "outdated": "lines whose value has left their list",
    },
    ColumnLoss: {
        "name": "the column",
        "weight": "how much its loss counts",
        "denominator": "what it was divided by; null where published cells do not tell it",
        "loss": "what was lost of it, from 0 to 1, rounded up in a certificate; null where that is unknown",
        "told_apart": "of the pairs of records that may differ in it, the share told apart, from 0 to 1, "
        "rounded down in a certificate; null where that is unknown",
    },
    Ruling: {
        "rule": "the rule as the plan says it",
        "measured": "what it measures in the worst class; null for persons",
        "holds": "whether every class obeys it",
        "failing": "how many classes do not",
    },
    Receipt: {
        "version": "the version of this format, major and minor; a newer minor one only adds fields",
        "salt": "random, behind every salted fingerprint of the certificate",
        "original": "the salted fingerprint of the table that came in",
        "release": "SHA-256 of the published file",
        "certificate": "SHA-256 of all that the certificate says",
        "figures": "every figure of the run, exact",
    },
    Figures: {
        "value": "what the method reached",
        "bound": "what no release of this very table can beat",
        "bound_name": "by which argument",
        "bound_parameters": "what the argument needs to be repeated",
        "bound_shares": "what every row contributes to a bound by shares, packed; empty for other bounds",
        "bound_cuts": "the cuts into parts of a bound proved part by part, packed; empty for other bounds",
        "loss": "what was lost in all",
        "loss_percent": "the same as a share of everything there was to lose",
        "columns": "what was lost by column",
        "steps": "how many steps the run took",
        "places": "between which of a column's sorted values the published ones lie, on each axis",
        "persons": "the fewest persons in a class, where the plan names a unit",
        "more": "the certificate's other figures",
    },
}
