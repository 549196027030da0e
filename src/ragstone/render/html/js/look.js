// Light or dark mode: follows the system until the reader switches it.

const LOOKS = ['light', 'dark'];

/** The name of the tool; in a served page it links to the list of runs. */
function wordmark() {
  return first.root
    ? el('a', { class: 'wordmark', href: first.root }, 'Ragstone', el('span', ' \u00b7 all runs'))
    : el('span.wordmark', 'Ragstone');
}

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
  document.getElementById('look').textContent = lookWords();
}
