// Tables sort by a click on a column's name: by data-value where a cell has one, else by its text.
{
  function keyOf(row, column) {
    const cell = row.cells[column];
    const full = cell.dataset.value;
    const text = full === undefined ? cell.textContent.trim() : full;
    return { text, parts: text.split(/(\d+(?:\.\d+)?)/), number: text === "" ? NaN : Number(text) };
  }
  function compare(one, other) {
    if (!Number.isNaN(one.number) && !Number.isNaN(other.number)) return one.number - other.number;
    // Numbers within names count as such: pgd@0.25/255 is before pgd@0.5/255.
    for (let place = 0; place < Math.min(one.parts.length, other.parts.length); place += 1) {
      const [first, second] = [one.parts[place], other.parts[place]];
      const order = place % 2 ? Number(first) - Number(second) : first.localeCompare(second);
      if (order !== 0) return order;
    }
    return one.parts.length - other.parts.length;
  }
  function sortBy(table, head, column) {
    const up = head.getAttribute("aria-sort") === "descending" || !head.hasAttribute("aria-sort") && !head.classList.contains("number");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => ({ row, key: keyOf(row, column) }));
    rows.sort((one, other) => {
      if (one.key.text === "" || other.key.text === "") {
        return Number(one.key.text === "") - Number(other.key.text === "");
      }
      return (up ? 1 : -1) * compare(one.key, other.key);
    });
    for (const other of table.tHead.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    body.append(...rows.map(({ row }) => row));
  }
  for (const table of document.querySelectorAll("table")) {
    const heads = Array.from(table.tHead.rows[table.tHead.rows.length - 1].cells);
    heads.forEach((head, column) => {
      if (head.dataset.sort === undefined) return;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.addEventListener("click", () => sortBy(table, head, column));
      head.replaceChildren(button);
    });
  }
}
