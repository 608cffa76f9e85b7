// The table of all results is filtered by words, and copied as CSV; commands are copied, too.
{
  const section = document.getElementById("all");
  const table = section && section.querySelector("table");

  function copy(button, text) {
    const name = button.textContent;
    const done = (answer) => {
      button.textContent = answer;
      setTimeout(() => { button.textContent = name; }, 1500);
    };
    navigator.clipboard.writeText(text).then(() => done("Copied"), () => done("Not allowed"));
  }

  function asCsv() {
    const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const valueOf = (cell) => cell.dataset.value ?? cell.textContent.trim();
    const rows = [table.tHead.rows[table.tHead.rows.length - 1], ...table.tBodies[0].rows];
    const lines = rows.filter((row) => !row.hidden && getComputedStyle(row).display !== "none");
    return lines.map((row) => Array.from(row.cells, (cell) => quoted(valueOf(cell))).join(",")).join("\n") + "\n";
  }

  if (table) {
    const rows = Array.from(table.tBodies[0].rows, (row) => [row, row.textContent.toLowerCase()]);
    page.state("q").listen((value) => {
      const words = value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const [row, text] of rows) {
        row.hidden = !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      section.querySelector(".visible-rows").textContent = shown;
    });
    const button = section.querySelector(".copy-table");
    button.addEventListener("click", () => copy(button, asCsv()));
  }
  for (const button of document.querySelectorAll(".command .copy")) {
    button.addEventListener("click", () => copy(button, button.parentNode.querySelector("code").textContent));
  }
}
