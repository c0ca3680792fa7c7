// Prints the state of the suite app, then each of its changes. Run it with: node follow.mjs
// The file "cursor" has the cursor of the last answer, from which the program continues after a restart.
// With the variable CLIENT, the program reports under this name which state it has applied. With access control,
// SETTINGS_TOKEN_FILE names a file with the token.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

const suite = "http://127.0.0.1:7070/v1/suites/app";
const { CLIENT: client, SETTINGS_TOKEN_FILE: tokenFile } = process.env;
let cursor = existsSync("cursor") ? readFileSync("cursor", "utf8") : null;
for (;;) {
  let news;
  try {
    // With `wait`, a request without a cursor waits for a suite that does not exist yet.
    const query = new URLSearchParams(cursor ? { since: cursor } : { wait: 30 });
    if (cursor && client) Object.entries({ client, applied: cursor }).forEach(([name, value]) => query.set(name, value));
    const headers = tokenFile ? { Authorization: `Bearer ${readFileSync(tokenFile, "utf8").trim()}` } : {};
    const answer = await fetch(`${suite}/observe?${query}`, { headers, signal: AbortSignal.timeout(60_000) });
    if ([400, 401, 403].includes(answer.status)) {
      console.error(`status ${answer.status}`); // A repeated request would fail again.
      process.exit(1);
    }
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    news = await answer.json();
  } catch (error) {
    console.error(`${error}`);
    await new Promise((done) => setTimeout(done, 1000));
    continue;
  }
  if (news.values) console.log("state", JSON.stringify(news.values));
  for (const change of news.changes) console.log("change", change.key, JSON.stringify(change.new));
  cursor = news.cursor;
  writeFileSync("cursor.new", cursor);
  renameSync("cursor.new", "cursor");
}
