// Looks at the page as a careful reader would, and gives what there is to complain of.
(() => {
  const complaints = [];
  const say = (what) => complaints.length < 40 && complaints.push(what);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const short = (e) => `<${e.tagName.toLowerCase()}> "${(e.textContent || '').replace(/\s+/g, ' ').trim().slice(0, 60)}"`;
  const shown = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== 'hidden';

  // What is beyond the window's edge can't be read; what scrolls by itself may be wider.
  const width = document.scrollingElement.scrollWidth;
  if (width > innerWidth) say(`the page is ${width} wide in a window of ${innerWidth}`);
  for (const e of all('body *')) {
    if (e.closest('.scroll') || !shown(e)) continue;
    const box = e.getBoundingClientRect();
    if (box.right > innerWidth + 1 || box.left < -1) say(`sticks out of the window: ${short(e)}`);
  }

  // How a screen reader finds its way.
  if (!document.documentElement.lang) say('the language is not set');
  if (!document.title) say('there is no title');
  let level = 0;
  for (const h of all('h1, h2, h3, h4, h5, h6')) {
    const now = Number(h.tagName[1]);
    if (now > level + 1) say(`the heading jumps from level ${level} to ${now}: ${short(h)}`);
    if (!h.textContent.trim()) say('a heading is empty');
    level = now;
  }
  if (all('h1').length !== 1) say(`there are ${all('h1').length} headings of the first level`);
  const ids = new Set();
  for (const e of all('[id]')) {
    if (ids.has(e.id)) say(`two elements are called #${e.id}`);
    ids.add(e.id);
  }
  for (const a of all('a[href]')) {
    const to = a.getAttribute('href');
    if (!to.startsWith('#') || !ids.has(decodeURIComponent(to.slice(1)))) say(`a link leads nowhere: ${to}`);
    if (!a.textContent.trim()) say(`a link to ${to} has no text`);
  }
  const named = (e) => e.getAttribute('aria-label') || e.querySelector(':scope > title') || e.getAttribute('alt') ||
    (e.getAttribute('aria-labelledby') || '').split(' ').some((id) => (document.getElementById(id)?.textContent || '').trim());
  for (const e of all('svg, img, [tabindex], nav')) if (!named(e)) say(`has no name: ${short(e)}`);
  for (const e of all('[tabindex]')) if (e.tabIndex > 0) say(`is visited out of order: ${short(e)}`);
  for (const t of all('table')) {
    const heads = [...t.querySelectorAll('th')];
    if (!heads.length) say(`a table has no head: ${short(t)}`);
    for (const th of heads) if (!th.scope) say(`a head has no scope: ${short(th)}`);
    for (const r of t.rows) if (r.cells.length !== heads.length) say(`a row has ${r.cells.length} cells under ${heads.length} heads`);
  }

  // What is read first stands higher, and further left where it stands as high.
  for (const parent of all('body, main, section, dl, tr, ul, ol')) {
    const kids = [...parent.children].filter(shown);
    if (getComputedStyle(parent).columnCount !== 'auto' || getComputedStyle(parent).columnWidth !== 'auto') continue; // goes on at the top
    for (let i = 1; i < kids.length; i++) {
      const a = kids[i - 1].getBoundingClientRect(), b = kids[i].getBoundingClientRect();
      if (b.top + 1 < a.top || (b.bottom <= a.top + 1 && b.right <= a.left + 1)) say(`is read after what stands below it: ${short(kids[i])}`);
    }
  }

  // Contrast by WCAG 2.2, 1.4.3, as for small text.
  const numbers = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const contrast = (a, b) => {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const opaque = (c) => c.length === 3 || (c.length === 4 && c[3] === 1);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = numbers(getComputedStyle(e).backgroundColor);
      if (opaque(c)) return c;
    }
    return [255, 255, 255];
  };
  // A drawing's text lies on the last shape before it that covers its middle.
  const shapes = new Map(all('svg').map((svg) => [svg, []]));
  for (const e of all('svg polygon, svg text')) {
    const list = shapes.get(e.ownerSVGElement);
    if (e.tagName === 'text') e.covers = list.length;
    else if (getComputedStyle(e).fill !== 'none') list.push([e, e.getBBox()]);
  }
  const under = (text) => {
    const box = text.getBBox(), svg = text.ownerSVGElement, middle = svg.createSVGPoint();
    middle.x = box.x + box.width / 2;
    middle.y = box.y + box.height / 2;
    const list = shapes.get(svg);
    for (let i = text.covers - 1; i >= 0; i--) {
      const [shape, { x, y, width, height }] = list[i];
      if (middle.x < x || middle.x > x + width || middle.y < y || middle.y > y + height) continue;
      if (shape.isPointInFill(middle)) return numbers(getComputedStyle(shape).fill);
    }
    return behind(svg);
  };
  let read = 0;
  for (const e of all('body *')) {
    if (!shown(e) || ![...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim())) continue;
    if (e.closest('details:not([open])') && !e.closest('summary')) continue;
    const style = getComputedStyle(e), drawn = e instanceof SVGElement;
    const ratio = contrast(numbers(drawn ? style.fill : style.color), drawn ? under(e) : behind(e));
    read++;
    if (!(ratio >= 4.5)) say(`contrast ${ratio.toFixed(1)}: ${short(e)}`);
    if (parseFloat(style.fontSize) < 11 && !drawn) say(`letters of ${style.fontSize}: ${short(e)}`);
  }
  if (read < 50) say(`only ${read} elements with text were found`);
  return complaints;
})()
