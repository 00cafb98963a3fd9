for (const page of document.querySelectorAll(".attn:not([data-ready])")) {
  page.dataset.ready = "";
  const told = page.querySelector(".told");
  const marked = [];
  const mark = (element, name) => { if (element) { element.classList.add(name); marked.push([element, name]); } };
  const cells = (row) => [...row.cells].filter((cell) => cell.tagName === "TD");

  function clear() {
    for (const [element, name] of marked.splice(0)) element.classList.remove(name);
    told.hidden = true;
  }

  function headers(cell) {
    const table = cell.closest("table");
    mark(cell.parentElement.querySelector("th"), "axis");
    mark(table.tHead.rows[0].cells[cell.cellIndex], "axis");
  }

  /* data-from: "table row column" with * for all of a row or column, several parted by ";" */
  function sources(cell) {
    for (const part of (cell.dataset.from || "").split(";").filter(Boolean)) {
      const [id, i, j] = part.split(" ");
      const table = page.querySelector(`table[data-id="${id}"]`);
      if (!table) continue;
      const rows = [...table.tBodies[0].rows];
      for (const row of i === "*" ? rows : [rows[i]]) {
        const all = cells(row).filter((one) => !one.classList.contains("margin"));
        for (const one of j === "*" ? all : [all[j]]) mark(one, "from");
      }
    }
  }

  function show(cell) {
    clear();
    if (!cell) return;
    mark(cell, "on");
    headers(cell);
    sources(cell);
    const id = cell.getAttribute("aria-describedby");
    const line = id && page.querySelector(`[id="${id}"]`);
    if (!line) return;
    mark(line, "on");
    told.innerHTML = line.innerHTML;
    told.hidden = false;
  }

  const active = () => (page.contains(document.activeElement) ? document.activeElement.closest("td") : null);

  function go(cell) {
    if (!cell) return;
    for (const other of cell.closest("table").querySelectorAll('td[tabindex="0"]')) other.tabIndex = -1;
    cell.tabIndex = 0;
    cell.focus();
  }

  function moved(cell, event) {
    const rows = [...cell.closest("table").tBodies[0].rows].map(cells);
    const i = rows.findIndex((row) => row.includes(cell));
    const j = rows[i].indexOf(cell);
    const all = event.ctrlKey || event.metaKey;
    switch (event.key) {
      case "ArrowRight": return rows[i][j + 1];
      case "ArrowLeft": return rows[i][j - 1];
      case "ArrowDown": return rows[i + 1] && rows[i + 1][j];
      case "ArrowUp": return rows[i - 1] && rows[i - 1][j];
      case "Home": return rows[all ? 0 : i][0];
      case "End": return rows[all ? rows.length - 1 : i].at(-1);
      default: return undefined;
    }
  }

  page.addEventListener("focusin", (event) => show(event.target.closest("td")));
  page.addEventListener("focusout", clear);
  page.addEventListener("pointerover", (event) => {
    const cell = event.target.closest("td");
    if (cell) show(cell);
    else if (!event.target.closest(".told")) show(active());
  });
  page.addEventListener("pointerleave", () => show(active()));
  page.addEventListener("click", (event) => go(event.target.closest("td")));
  page.addEventListener("keydown", (event) => {
    const cell = event.target.closest("td");
    if (!cell || event.altKey || event.shiftKey) return;
    if (event.key === "Escape") clear();
    const next = moved(cell, event);
    if (next || /^(Arrow|Home|End)/.test(event.key)) event.preventDefault();
    go(next);
  });
  const opened = [];
  addEventListener("beforeprint", () => {
    for (const part of page.querySelectorAll("details:not([open])")) { part.open = true; opened.push(part); }
  });
  addEventListener("afterprint", () => { for (const part of opened.splice(0)) part.open = false; });
}
