"use strict";
// The sheet marks itself: each number is judged by the digits that it claims, as `attn check` does. Nothing leaves this page.
const data = JSON.parse(document.getElementById("data").textContent);

function plain(text) {  // a decimal number with the unit of its last digit
  const found = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d+))?$/i.exec(text);
  if (!found || (found[2] === "" && !found[3])) return null;
  const value = Number(text), power = Number(found[4] || 0), decimals = (found[3] || "").length;
  const size = value ? Math.floor(Math.log10(Math.abs(value))) : 0;
  const whole = Math.max(1e-2, 10 ** (size - 2));  // a whole number claims two decimals or three digits, whichever is looser
  return { value, unit: decimals ? 10 ** (power - decimals) : found[4] ? Math.max(10 ** (power - 2), 10 ** (size - 2)) : whole };
}

function formula(text) {  // + - * / ( ) √ and numbers; null where it is something else
  let at = 0;
  const peek = () => text[at], take = (c) => text[at] === c && ++at;
  function atom() {
    if (take("-")) return -atom();
    if (take("√")) return Math.sqrt(atom());
    if (take("(")) { const value = sum(); return take(")") ? value : NaN; }
    const found = /^(\d+\.?\d*|\.\d+|e)/.exec(text.slice(at));
    if (!found) return NaN;
    at += found[0].length;
    return found[0] === "e" ? Math.E : Number(found[0]);
  }
  function product() {
    let value = atom();
    while ("*/".includes(peek() || " ")) value = take("*") ? value * atom() : (at++, value / atom());
    return value;
  }
  function sum() {
    let value = product();
    while ("+-".includes(peek() || " ")) value = take("+") ? value + product() : (at++, value - product());
    return value;
  }
  const value = sum();
  return at === text.length && !Number.isNaN(value) ? value : null;
}

function claim(text) {  // null: blank; NaN: cannot be read
  let told = text.trim().replace(/[−–]/g, "-").replace(/^[≈~]\s*/, "").replace(/[·×]/g, "*").replace(/sqrt/gi, "√").replace(/\s+/g, "");
  if (/^(|_|\?|-|—|\*)$/.test(told)) return null;
  if (/^-(\.?inf(inity)?|∞)$/i.test(told)) return { value: -Infinity, unit: 0 };
  if (/^[^,]*\d,\d[^,]*$/.test(told)) told = told.replace(",", ".");
  const share = told.endsWith("%") ? 100 : 1;
  if (share > 1) told = told.slice(0, -1);
  const number = plain(told);
  if (number && share > 1) return { value: number.value / share, unit: 10 ** -(told.split(".")[1] || "").length / share };
  if (number) return number;
  const value = formula(told);
  if (value === null) return { value: NaN, unit: 0 };
  const decimals = (told.match(/\d*\.\d+/g) || []).map((part) => part.replace(/^0*\.0*|\./g, "").length);
  const size = value ? Math.floor(Math.log10(Math.abs(value))) : 0;
  return { value: value / share, unit: decimals.length ? 10 ** (size - Math.min(...decimals) + 1) / share : 0 };
}

function holds(found, wanted) {
  if (wanted === null) return found.value <= -1000;  // a masked score
  return Math.abs(found.value - wanted) <= (found.unit / 2) * (1 + 1e-9) + 1e-9 * Math.max(1, Math.abs(wanted));
}

const fields = [...document.querySelectorAll("td.blank input")];

function mark(field) {
  const cell = field.closest("td"), [step, at] = field.dataset.cell.split(":").map(Number);
  const found = claim(field.value), sign = cell.querySelector("output");
  cell.classList.remove("right", "wrong");
  sign.textContent = "";
  if (found !== null) {
    const good = holds(found, data.steps[step].values[at]);
    cell.classList.add(good ? "right" : "wrong");
    sign.textContent = good ? "✓" : "✗";
  }
  score();
}

function score() {
  const good = fields.filter((field) => field.closest("td").classList.contains("right")).length;
  const bad = fields.filter((field) => field.closest("td").classList.contains("wrong")).length;
  document.querySelector(".score").textContent = data.score.replace("{right}", good).replace("{wrong}", bad).replace("{all}", fields.length);
}

function slip(step, own) {  // the known mistake that gives every wrong number that was typed, if there is one
  const typed = own.map((field) => [Number(field.dataset.cell.split(":")[1]), claim(field.value)]).filter((pair) => pair[1] !== null);
  if (!typed.some(([at, found]) => !holds(found, data.steps[step].values[at]))) return "";
  const fits = data.steps[step].slips.find((one) => typed.every(([at, found]) => holds(found, one.values[at])));
  return fits ? fits.text : "";
}

for (const field of fields) field.addEventListener("input", () => mark(field));
for (const button of document.querySelectorAll("button[data-step]")) {
  let asked = 0;
  button.addEventListener("click", () => {
    const step = Number(button.dataset.step), own = fields.filter((field) => field.dataset.cell.startsWith(step + ":"));
    const open = own.find((field) => field.closest("td").classList.contains("wrong")) || own.find((field) => !field.closest("td").classList.contains("right"));
    const hint = document.getElementById("hint" + step);
    if (!open) { hint.textContent = data.done; return; }
    const lines = data.steps[step].lines[Number(open.dataset.cell.split(":")[1])];
    const known = slip(step, own);
    const told = known ? [known, ...lines] : lines;
    hint.textContent = told[Math.min(asked, told.length - 1)];
    asked = asked + 1 < told.length ? asked + 1 : 0;
    open.focus();
  });
}
score();
