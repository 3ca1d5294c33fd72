// What the checks of the search page share: where it is, and how to find things on it.

import { DESKTOP, PHONE, inPageOf, screenshot, setting } from "./browser.mjs";

export { DESKTOP, PHONE, screenshot };

/** The search page of a server that has crawled the demo web, and of one that has crawled nothing. */
export const SEARCH = setting("SEINE_PAGE");
export const EMPTY = setting("SEINE_EMPTY_PAGE");

/** Finds pages of all three hosts of the demo web, in three languages. */
export const ANYTHING = "river OR zahrada OR 图书馆";

export const searching = (words, more = "") => `${SEARCH}/search?q=${encodeURIComponent(words)}${more}`;

/** As `inPageOf`, on the search page where nothing else is said. */
export function inPage(options, check) {
  const { url = `${SEARCH}/`, ...rest } = options;
  const isOurs = (address) => [SEARCH, EMPTY].some((server) => address.startsWith(server));
  return inPageOf(url, isOurs, rest, check);
}

export const box = (page) => page.locator("#q");
/** Types where the focus is, once the box has it: a busy browser gives it only when it draws. */
export async function typeInBox(page, text, options) {
  await page.waitForFunction(() => document.activeElement?.id === "q");
  await page.keyboard.type(text, options);
}
export const options = (page) => page.getByRole("option");
export const resultLinks = (page) => page.locator(".hits h2 a");
export const focusedText = (page) => page.evaluate(() => document.activeElement.textContent.trim());
