"use strict";
const base = document.body.dataset.base, at = id => document.getElementById(id);
const form_of = form => new URLSearchParams(new FormData(form));
const put = (where, file) => fetch(base + where + encodeURIComponent(file.name), { method: "PUT", body: file });

const open = at("open");
if (open) {
  const send = file => {
    if (!file) return;
    const bar = at("sent"), ask = new XMLHttpRequest();  // fetch does not tell how much was sent
    const end = words => { bar.hidden = true; at("said").textContent = words; at("file").value = ""; };
    at("said").textContent = "";
    bar.hidden = false;
    ask.upload.onprogress = e => { if (e.loaded < e.total) bar.value = e.loaded / e.total; else bar.removeAttribute("value"); };
    ask.onload = () => { if (ask.status === 204) location.href = base + "/columns"; else end(ask.responseText); };
    ask.onerror = () => end("The workbench does not answer. Was it closed?");
    ask.open("PUT", base + "/upload/" + encodeURIComponent(file.name));
    ask.send(file);
  };
  at("file").onchange = e => send(e.target.files[0]);
  open.ondragover = e => e.preventDefault();
  open.ondrop = e => { e.preventDefault(); send(e.dataTransfer.files[0]); };
}

const plan = at("plan");
if (plan) {
  let asked = 0;
  const keep = async () => {
    const turn = ++asked, said = await fetch(base + "/plan", { method: "POST", body: form_of(plan) });
    if (turn !== asked) return;  // the newest answer wins
    if (!said.ok) { at("risk").textContent = await said.text(); return; }
    const now = await said.json();
    at("risk").innerHTML = now.risk;
    at("command").textContent = now.command;
  };
  plan.onchange = e => {
    if (e.target.name.startsWith("role-")) e.target.closest("tr").className = e.target.value || "none";
    keep();
  };
  at("k").oninput = e => { at("kk").value = e.target.value; at("others").value = e.target.value - 1; };
  at("load-plan").onchange = async e => {
    const said = await put("/plan/", e.target.files[0]);
    if (said.ok) location.reload(); else { at("loaded").textContent = await said.text(); e.target.value = ""; }
  };
  keep();
}

const run = at("run");
if (run) {
  const told = new EventSource(run.dataset.events);
  told.onmessage = e => {
    const now = JSON.parse(e.data);
    at("what").textContent = now.what;
    at("seconds").textContent = now.seconds.toFixed(1) + " s";
    if (now.share > 0) at("share").value = now.share; else at("share").removeAttribute("value");
    if (now.loss !== null) at("loss").textContent = "Loss " + now.loss.toFixed(2) + " %" + (now.least === null ? "" : ", and no release can lose less than " + now.least + " %");
    at("drawing").innerHTML = now.drawing;
    if (now.state === "failed") { told.close(); location.href = base + "/columns"; }
    else if (now.state !== "running") { told.close(); location.reload(); }
  };
}

const tree = at("tree");
if (tree) {
  const text = at("text");
  let wait = 0, asked = 0;
  const look = async () => {
    if (!text.value.trim()) { at("tried").textContent = ""; return; }
    const turn = ++asked, said = await fetch(tree.action + "/try", { method: "POST", body: new URLSearchParams({ text: text.value }) });
    const html = await said.text();
    if (turn === asked) at("tried").innerHTML = html;
  };
  const shift = by => {  // whole lines of the selection
    const from = text.value.lastIndexOf("\n", text.selectionStart - 1) + 1, to = text.selectionEnd;
    const lines = text.value.slice(from, to).split("\n").map(line => by > 0 ? "  " + line : line.replace(/^ {1,2}/, ""));
    text.setRangeText(lines.join("\n"), from, to, "select");
    text.focus();
    look();
  };
  at("deeper").onclick = () => shift(1);
  at("shallower").onclick = () => shift(-1);
  if (at("fill")) at("fill").onclick = () => { text.value += (text.value && !text.value.endsWith("\n") ? "\n" : "") + tree.dataset.values; look(); };
  if (at("suggest")) at("suggest").onclick = e => { text.value = e.target.dataset.text; look(); };
  at("tree-file").onchange = async e => {
    const file = e.target.files[0], said = await fetch(tree.action + "/" + encodeURIComponent(file.name), { method: "PUT", body: file });
    const words = await said.text();
    at("read").textContent = said.ok ? "" : words;
    if (said.ok) { text.value = words; look(); }
    e.target.value = "";
  };
  text.oninput = () => { clearTimeout(wait); wait = setTimeout(look, 300); };
  look();
}
