// Before the first paint, so that a dark room is not lit up for a moment.
(function () {
  var theme = null;
  try {
    theme = localStorage.getItem("drumline.theme");
  } catch (_) {
    // A browser that keeps nothing follows the system.
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
