// "/" goes to the search box, as on many sites; nothing else needs a script.
addEventListener("keydown", (event) => {
  const box = document.getElementById("q");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || document.activeElement === box) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) return;
  event.preventDefault();
  box.focus();
  box.select();
});
