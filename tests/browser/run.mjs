// The search page in a real browser. Started by tests/tests/e2e/pages_in_a_browser.rs; see support.mjs for what it needs.

import "./completion.mjs";
import "./keys.mjs";
import "./narrowing.mjs";
import "./cached.mjs";
import "./languages.mjs";
import "./looks.mjs";
