// Light or dark mode: follows the system until the reader switches it, then stays as chosen.

const LOOKS = ['light', 'dark'];
const LOOK = 'ragstone-look';
const SYSTEM = matchMedia('(prefers-color-scheme: dark)');

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
  return set ? set === 'dark' : SYSTEM.matches;
}

function lookWords() {
  return darkNow() ? 'Light' : 'Dark';
}

function switchLook() {
  const look = LOOKS[darkNow() ? 0 : 1];
  document.documentElement.dataset.look = look;
  chosenLook(look);
  nameLook();
}

/** Return the look that the reader chose; null if none, or if the browser stores nothing. @param {string} [look] to store */
function chosenLook(look) {
  try {
    if (look) localStorage.setItem(LOOK, look);
    return localStorage.getItem(LOOK);
  } catch {
    return null;
  }
}

function nameLook() {
  const button = document.getElementById('look');
  if (button) button.textContent = lookWords();
}

SYSTEM.addEventListener('change', nameLook);
const chosenBefore = chosenLook() || '';
if (LOOKS.includes(chosenBefore)) document.documentElement.dataset.look = chosenBefore;
