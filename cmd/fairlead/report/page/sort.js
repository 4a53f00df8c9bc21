"use strict";
for (const head of document.querySelectorAll("thead th")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = head.textContent;
  head.replaceChildren(button);
  button.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => row.cells[head.cellIndex].dataset.sort ?? row.cells[head.cellIndex].textContent;
    const body = head.closest("table").tBodies[0];
    const rows = [...body.rows].map((row) => [key(row), row]);
    rows.sort((a, b) => a[0].localeCompare(b[0], "en", { numeric: true }) * (down ? -1 : 1));
    body.append(...rows.map((pair) => pair[1]));
  });
}
