// Long tables: a click on a column's head sorts by it, a box above filters the rows. Nothing is fetched.
document.addEventListener("DOMContentLoaded", () => {
  // The theme labels its search button and a cell's fold with other words than they show.
  for (const labelled of document.querySelectorAll(".search-button__button, details.hide > summary"))
    if (labelled.textContent.trim()) labelled.removeAttribute("aria-label");

  const key = (cell) => {
    const text = cell ? cell.textContent.trim() : "";
    const value = parseFloat(text.replace(/[,\s]/g, "").replace("−", "-"));
    return Number.isNaN(value) ? text : value;
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));

  for (const table of document.querySelectorAll(".relic-table table")) {
    const body = table.tBodies[0];
    if (!body || body.rows.length < 4) continue;
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.append(...head.childNodes);
      head.append(button);
      button.title = "Sort by this column";
      button.addEventListener("click", () => {
        const down = head.ariaSort === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.ariaSort = down ? "descending" : "ascending";
        const rows = [...body.rows].sort((a, b) => compare(key(a.cells[column]), key(b.cells[column])));
        body.append(...(down ? rows.reverse() : rows));
      });
    });
    if (body.rows.length < 15) continue;
    const box = document.createElement("input");
    box.type = "search";
    box.placeholder = "Filter rows";
    box.ariaLabel = "Filter the rows of this table";
    box.addEventListener("input", () => {
      for (const row of body.rows)
        row.hidden = !row.textContent.toLowerCase().includes(box.value.toLowerCase());
    });
    table.closest(".scroll").before(box);
  }
});
