// Light or dark: as the system is, until the reader turns it round.

const LOOKS = ['light', 'dark'];

function lookButton() {
  return el('button', { class: 'look', id: 'look', on: { click: switchLook } }, lookWords());
}

function darkNow() {
  const set = document.documentElement.dataset.look;
  return set ? set === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

function lookWords() {
  return darkNow() ? 'Light' : 'Dark';
}

function switchLook() {
  document.documentElement.dataset.look = LOOKS[darkNow() ? 0 : 1];
  /** @type {HTMLElement} */ (document.getElementById('look')).textContent = lookWords();
}
