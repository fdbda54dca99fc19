// Shows the buttons that copy, where the browser lets a page copy, and closes
// the contents on a small screen, where they would stand before everything.
if (navigator.clipboard) {
  for (const button of document.querySelectorAll('button[data-copy]')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 2000);
    });
  }
}
if (matchMedia('(max-width: 60rem)').matches) document.getElementById('contents').open = false;
