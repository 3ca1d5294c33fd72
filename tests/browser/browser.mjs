// One Chromium for all checks of a run, and where its screenshots go.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { after } from "node:test";
import { chromium } from "playwright-core";

export function setting(name) {
  assert.ok(process.env[name], `${name} is not set; these checks are started by the end-to-end tests`);
  return process.env[name];
}

const SCREENSHOTS = setting("SEINE_SCREENSHOTS");
mkdirSync(SCREENSHOTS, { recursive: true });

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

const browser = await chromium.launch({
  executablePath: setting("SEINE_CHROMIUM"),
  // Nothing here may reach outside this machine.
  args: ["--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
after(() => browser.close());

/**
 * Opens `url` in a context of its own and runs `check` with the page. Afterwards nothing may have gone wrong in it: no error of
 * a script, no message on the console (a violated content security policy is one), no request that `isOurs` does not know.
 */
export async function inPageOf(url, isOurs, options, check) {
  const { allowed = [], ...rest } = options;
  const context = await browser.newContext({ viewport: DESKTOP, locale: "en-US", ...rest });
  context.setDefaultTimeout(15_000);
  const problems = [];
  const note = (problem) => allowed.some((pattern) => pattern.test(problem)) || problems.push(problem);
  try {
    const page = await context.newPage();
    page.on("pageerror", (error) => note(`script: ${error.message}`));
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && note(`console: ${message.text()}`));
    page.on("request", (request) => isOurs(request.url()) || note(`request: ${request.url()}`));
    await page.goto(url);
    await check(page);
    assert.deepEqual(problems, []);
  } finally {
    await context.close();
  }
}

export const screenshot = (page, name, options = {}) => page.screenshot({ path: `${SCREENSHOTS}/${name}.png`, ...options });
