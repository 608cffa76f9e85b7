// The comparison: another baseline, the numbers of a cell, the intervals of a model. The state cell
// is "row.column": the number of a model, and that of a column counted through all matrices.
{
  const base = page.state("base");
  const cell = page.state("cell");
  const written = (value, digits) => {
    const text = Math.abs(value).toFixed(digits);
    return Number(text) === 0 ? text : (value > 0 ? "+" : "\u2212") + text;
  };
  const make = (tag, text) => {
    const element = document.createElement(tag);
    element.textContent = text;
    return element;
  };
  const chance = (p) => (p < 0.001 ? p.toExponential(1) : String(Number(p.toPrecision(3))));
  const nameOf = (row) => row.querySelector(".model").textContent;

  // Differences of corrupted images are between numbers that stand in the same column.
  function subtract(number) {
    for (const table of document.querySelectorAll(".corrupted")) {
      const rows = Array.from(table.tBodies[0].rows);
      const other = rows.find((row) => row.dataset.model === number);
      if (other === undefined) continue;
      for (const row of rows) {
        Array.from(row.cells).slice(1).forEach((one, place) => {
          const text = one.querySelector(".relative");
          if (text === null) return;
          const difference = Number(one.dataset.value) - Number(other.cells[place + 1].dataset.value);
          const depth = Math.min(20, Math.round(Math.abs(difference)));
          one.className = one.className.replace(/ ?\b[pn]\d+\b/g, "");
          if (depth) one.classList.add((difference > 0 ? "p" : "n") + depth);
          text.textContent = written(difference, one.matches(".mean") ? 1 : table.dataset.digits);
        });
      }
    }
  }

  class Place {
    constructor(root) {
      this.root = root;
      this.digits = root.dataset.digits;
      this.picked = root.querySelector(".picked");
      this.forest = root.querySelector(".forest");
      this.marks = Array.from(this.forest.querySelectorAll(".mark"));
      for (const table of root.querySelectorAll(".differing")) this.prepare(table);
      for (const item of root.querySelectorAll(".significant li")) {
        const button = make("button", "");
        button.type = "button";
        button.append(...item.childNodes);
        button.addEventListener("click", () => cell.set(`${item.dataset.model}.${item.dataset.column}`));
        item.append(button);
      }
    }

    prepare(table) {
      table.setAttribute("role", "grid");
      for (const one of table.querySelectorAll("td.cell")) one.tabIndex = -1;
      const first = table.querySelector("td.cell");
      if (first) first.tabIndex = 0;
      for (const name of table.querySelectorAll(".model")) {
        const button = make("button", "");
        button.type = "button";
        button.append(...name.childNodes);
        name.append(button);
        button.addEventListener("click", () => this.draw(name.closest("tr")));
      }
      table.addEventListener("click", (event) => choose(event.target.closest("td.cell")));
      table.addEventListener("keydown", (event) => this.move(event));
    }

    move(event) {
      const from = event.target.closest("td.cell");
      if (from === null) return;
      const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Enter: [0, 0], " ": [0, 0] };
      const step = steps[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const rows = Array.from(from.closest("tbody").rows).filter((row) => row.offsetParent !== null);
      const row = rows[rows.indexOf(from.parentNode) + step[0]];
      const next = row && row.cells[from.cellIndex + step[1]];
      if (next && next.matches("td.cell")) choose(next);
    }

    /** Shows the comparison with a baseline, or where it has none, with its first. */
    against(number) {
      const blocks = Array.from(this.root.querySelectorAll("[data-base]"));
      const has = blocks.some((block) => block.dataset.base === number);
      const shown = has ? number : blocks[0].dataset.base;
      for (const block of blocks) block.toggleAttribute("hidden", block.dataset.base !== shown);
      this.draw(this.table().tBodies[0].rows[0]);
    }

    table() {
      return this.root.querySelector("[data-base]:not([hidden]) .differing");
    }

    draw(row) {
      for (const other of this.root.querySelectorAll(".differing tr")) other.classList.toggle("chosen", other === row);
      this.root.querySelector(".forest-of").textContent = nameOf(row);
      const { zero, scale } = this.forest.querySelector("[data-base]:not([hidden])").dataset;
      const at = (value) => Number(zero) + Number(scale) * value;
      Array.from(row.cells).slice(1, -1).forEach((one, place) => {
        const mark = this.marks[place];
        const isCompared = one.dataset.value !== undefined;
        mark.classList.toggle("absent", !isCompared);
        mark.classList.toggle("sure", one.classList.contains("sure"));
        mark.querySelector(".value").textContent = isCompared ? one.firstChild.textContent : "";
        if (!isCompared) return;
        const [low, high] = one.dataset.more.split(" ").map(Number);
        const dot = mark.querySelector("circle");
        dot.setAttribute("cx", at(Number(one.dataset.value)));
        mark.querySelector(".interval").setAttribute("d", `M${at(low)} ${dot.getAttribute("cy")}H${at(high)}`);
      });
    }

    show(one) {
      for (const other of this.root.querySelectorAll("td.chosen")) other.classList.remove("chosen");
      this.marks.forEach((mark) => mark.classList.remove("chosen"));
      this.picked.hidden = one === null;
      if (one === null) return;
      const row = one.parentNode;
      for (const other of row.closest("table").querySelectorAll("td.cell")) other.tabIndex = other === one ? 0 : -1;
      one.classList.add("chosen");
      this.draw(row);
      const mark = this.marks[one.cellIndex - 1];
      mark.classList.add("chosen");
      this.tell(one, row, mark.dataset.words);
    }

    tell(one, row, words) {
      const [low, high, onlyBase, onlyModel, images, p, holm] = one.dataset.more.split(" ").map(Number);
      const value = Number(one.dataset.value);
      const baseline = one.closest("table").dataset.baseline;
      const isSure = one.classList.contains("sure");
      const verdict = Number.isNaN(holm) ? "no test" : isSure ? (value > 0 ? "better" : "worse") : "not shown";
      this.picked.querySelector("h3").textContent = `${nameOf(row)}, ${words}`;
      const [number, unit] = this.picked.querySelector(".big").children;
      number.textContent = written(value, this.digits);
      unit.textContent = `points to ${baseline}`;
      const facts = {
        "95 % interval": `${written(low, 1)} to ${written(high, 1)}`,
        [`only ${baseline} right`]: `${onlyBase} of ${images}`,
        "only this model right": `${onlyModel} of ${images}`,
        "McNemar's exact p": chance(p),
        "corrected by Holm": Number.isNaN(holm) ? "no test" : chance(holm),
        verdict,
      };
      const lines = Object.entries(facts).flatMap(([name, text]) => [make("dt", name), make("dd", text)]);
      this.picked.querySelector("dl").replaceChildren(...lines);
    }
  }

  function choose(one) {
    if (one === null) return;
    one.focus();
    cell.set(`${one.parentNode.dataset.model}.${one.dataset.column}`);
  }

  const places = Array.from(document.querySelectorAll(".compared"), (root) => new Place(root));
  base.listen((number) => {
    if (number !== "") subtract(number);
    for (const place of places) place.against(number);
  });
  const pick = () => {
    const [row, column] = cell.value.split(".");
    for (const place of places) {
      const selector = `tr[data-model="${CSS.escape(row)}"] td[data-column="${CSS.escape(column || "")}"]`;
      place.show(place.table().querySelector(selector));
    }
  };
  cell.listen(pick);
  base.listen(pick);
}
