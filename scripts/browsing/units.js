// Unit tests of the modules of the page. scripts/check-page evaluates this text as the body of an async function, which
// returns the number of tests that passed and the messages of the tests that failed.
const { parse, print, jsonMistake, typeOf, membersOf, readNumber, numberMistake } = await import("./exact.js");
const { Caller, Problem, Watch, daemonTime, retryRead, send } = await import("./api.js");
const { readDraft, saveDraft } = await import("./drafts.js");
const { throttled } = await import("./dom.js");
const { instantText } = await import("./formats.js");
const { Store } = await import("./store.js");
const { fitsForm, kindOf, memberSchema } = await import("./schema.js");
const { naturalSortKey, treeRows } = await import("./tree.js");
const { nearNames } = await import("./absent.js");
const { markedTexts, steps } = await import("./textdiff.js");
const { mayEnd, durationText, whyNotEnded } = await import("./pending.js");
const { offsetOf } = await import("./schemas.js");
const { difference } = await import("./difference.js");
const { shownValue } = await import("./words.js");

let passed = 0;
const failed = [];

async function test(name, body) {
  try {
    await body();
    passed += 1;
  } catch (error) {
    failed.push(`${name}: ${error.message}`);
  }
}

function equal(found, wanted, what = "") {
  const [one, other] = [found, wanted].map(value => JSON.stringify(value));
  if (one !== other) throw new Error(`${what} found ${one}, not ${other}`);
}

// An array in an array in an array, and so on.
const nested = depth => "[".repeat(depth) + "]".repeat(depth);

await test("parse and print keep the spelling of numbers and the order of members", () => {
  for (const text of ['{"b":1,"10":1.0,"9":{"z":9007199254740993,"1":2.5}}', "[1e2,-0,1.50,0.1]", '{"__proto__":{"a":1}}'])
    equal(print(parse(text)), text);
  equal(membersOf(parse('{"b":1,"10":2}')).map(([name]) => name), ["b", "10"]);
  equal(typeOf(parse("1.0")), "number");
  equal(typeOf(parse("9007199254740993")), "integer");
});

await test("jsonMistake names the line and the column of a text that is not JSON", () => {
  for (const [text, position] of [['{"a": 1,\n "a": 2}', "line 2, column 2"], ["[1,\n2,,3]", "line 2, column 3"],
    ["1e999", "line 1, column 1"], ["99999999999999999999", "line 1, column 1"], ['"\\ud800"', "line 1, column 1"],
    ['{"a"', "line 1, column 5"]])
    if (!jsonMistake(text)?.message.includes(position)) throw new Error(`${text}: ${jsonMistake(text)?.message}`);
  equal(jsonMistake('{"a": [true, null]}'), null);
});

await test("parse reads an answer with a value of 128 levels; a value that a person writes has at most 125 levels", () => {
  const answer = `{"keys":[{"value":${nested(128)}}]}`;
  equal(print(parse(answer)), answer);
  equal(jsonMistake(nested(125)), null);
  if (!jsonMistake(nested(126))?.message.includes("125 levels")) throw new Error(String(jsonMistake(nested(126))?.message));
});

// The text of nodes.
const text = parts => [parts].flat(Infinity).map(part => part?.textContent ?? "").join("");

await test("A secret is hidden in a row and in a difference, whatever its length and form", () => {
  for (const value of ["pin", "long ".repeat(100), "one\ntwo\nthree", { a: "pin" }, ["pin"], false, 7]) {
    for (const other of ["another", "one\ntwo", undefined]) {
      for (const [isSecret, isOtherSecret] of [[true, false], [false, true], [true, true]]) {
        const found = text(difference({ value, source: "stored", isSecret },
          { value: other, source: other === undefined ? "unset" : "stored", isSecret: isOtherSecret }));
        if (!/^from hidden→to (hidden|no value)$/.test(found)) throw new Error(found);
      }
    }
    equal(text(shownValue({ value, source: "invalid", isSecret: true })), "hidden");
  }
});

await test("A difference shows a change of type, and values that differ although their texts look the same", () => {
  const shown = (one, other) => text(difference({ value: one, source: "stored" }, { value: other, source: "stored" }));
  equal(shown("Off", false), 'from "Off"→to falseThe type changes from text to true or false.');
  equal(shown(["a", "b"], ["a, b"]), 'from ["a","b"]→to ["a, b"]');
  equal(shown(1, parse("1.0")), "from 1→to 1.0");
  equal(shown("a", "a "), 'from "a"→to "a "');
  equal(shown("one\ntwo\nthree", "one\n2\nthree"), "  one\n− two\n+ 2\n  three\n");
  const same = "the same line\n".repeat(30);
  equal(shown(`${same}one`, `${same}two`), "  the same line\n  the same line\n− one\n+ two\n");
  const long = number => Array.from({ length: 2000 }, (_, index) => `${number} ${index}`).join("\n");
  if (!shown(long(1), long(2)).includes("and 3,000 more lines")) throw new Error("too many lines are shown");
});

await test("A throttled function runs even if calls never stop, one run at a time, and once more for the last call", async () => {
  let runs = 0, running = 0;
  const call = throttled(5, async () => {
    if (running += 1, running > 1) throw new Error("two runs at a time");
    await new Promise(resolve => setTimeout(resolve, 5));
    [runs, running] = [runs + 1, running - 1];
  });
  const end = performance.now() + 150;
  while (performance.now() < end) {
    call();
    await new Promise(resolve => setTimeout(resolve, 1));
  }
  if (runs < 3) throw new Error(`${runs} runs while calls came`);
  const before = runs;
  call();
  while (runs === before && performance.now() < end + 5000) await new Promise(resolve => setTimeout(resolve, 1));
  if (runs === before) throw new Error("no run after the last call");
});

await test("readNumber reads numbers as people type them, and numberMistake says why a text is no number", () => {
  equal([readNumber("+.5"), readNumber("-.5"), readNumber("1e3")].map(String), ["0.5", "-0.5", "1e3"]);
  // The daemon refuses integers beyond 64 bits, also integers that a double represents exactly.
  for (const text of ["10000000000000000000", "-100000000000000000000"])
    if (!jsonMistake(text)) throw new Error(`${text} is accepted`);
  for (const [text, reason] of [["", "Enter a number"], ["loud", "is not a number"], ["1e999", "too large"],
    ["9223372036854775808", "between"], ["1.", "is not a number"], ["007", "is not a number"], ["0x10", "is not a number"],
    ["Infinity", "is not a number"]]) {
    equal(readNumber(text), undefined);
    if (!numberMistake(text).includes(reason)) throw new Error(`${text}: ${numberMistake(text)}`);
  }
});

await test("An edited time keeps the digits of its fraction that the field does not show", () => {
  for (const [date, fraction, wanted] of [["12:31:15.123Z", "123456", "12:31:15.123456Z"], ["12:31:15.124Z", "123456",
    "12:31:15.124Z"], ["12:31:15.500Z", "5", "12:31:15.5Z"], ["12:31:15.000Z", "", "12:31:15Z"]])
    equal(instantText(new Date(`2026-03-01T${date}`), fraction), `2026-03-01T${wanted}`);
});

await test("A store skips a change that is older than the setting, and a change of another suite", () => {
  const changedKeys = [];
  const store = new Store("s", keys => changedKeys.push(...keys));
  const change = (key, revision, value, source = "stored") => ({ key, revision, new: value, source });
  store.settings.set("a", { suite: "s", key: "a", value: 1, source: "stored", revision: 3, writable: true });
  store.apply([change("a", 5, 2)]);
  store.apply([change("a", 4, 9)]);
  equal([store.at("a").value, store.at("a").revision], [2, 5]);
  store.apply([change("a", 6, null, "unset")]);
  store.apply([change("a", 5, 2)]);
  equal([store.at("a").source, store.settings.has("a")], ["unset", false]);
  store.apply([{ ...change("a", 9, 7), suite: "another" }]);
  store.close();
  equal([store.at("a").source, changedKeys.length], ["unset", 2]);
});

// Replaces a function of the browser while `body` runs.
async function replacing(name, replacement, body) {
  const original = globalThis[name];
  globalThis[name] = replacement;
  try {
    await body();
  } finally {
    globalThis[name] = original;
  }
}

// The answer to a request for an event stream; it stays open after the text.
const stream = text => new Response(new ReadableStream({
  start: controller => controller.enqueue(new TextEncoder().encode(text)),
}));
const until = async (condition, what) => {
  for (const end = performance.now() + 10_000; !condition();) {
    if (performance.now() > end) throw new Error(what);
    await new Promise(resolve => setTimeout(resolve, 1));
  }
};

await test("Before a watch opens the next stream, it closes the stream whose event the listener could not handle", async () => {
  const signals = [];
  let opened = 0;
  const fail = () => { throw new Error("this event cannot be handled"); };
  await replacing("reportError", () => {}, () => replacing("fetch", async (_, { signal }) => {
    if (signals.some(each => !each.aborted)) throw new Error("an earlier stream is still open");
    signals.push(signal);
    opened += 1;
    return stream("retry: 250\nevent: commit\nid: e.1\ndata: {}\n\n");
  }, async () => {
    const watch = new Watch("v1/observe", {}, null, fail);
    await until(() => opened === 3, `${opened} streams were opened`);
    watch.close();
    await until(() => signals.every(each => each.aborted), "a stream is still open");
  }));
});

await test("A watch delivers a reset for an event that is not JSON, and the stream goes on", async () => {
  const events = [];
  let opened = 0;
  await replacing("reportError", () => {}, () => replacing("fetch", async () => {
    opened += 1;
    return stream("event: commit\nid: e.1\ndata: {broken\n\nevent: commit\nid: e.2\ndata: {}\n\n");
  }, async () => {
    const watch = new Watch("v1/observe", {}, null, event => events.push(event));
    await until(() => events.length === 2, `the events are ${events}`);
    watch.close();
    equal([events, watch.cursor, opened], [["reset", "commit"], "e.2", 1]);
  }));
});

await test("A read is repeated after a failure of the network, but not after a refusal", async () => {
  const reasons = [];
  let reads = 0;
  const read = async () => {
    reads += 1;
    if (reads === 1) throw new Problem(0, { code: "network", detail: "no answer" });
    return reads;
  };
  equal([await retryRead(read, reason => reasons.push(reason), () => false), reasons], [2, ["no answer", ""]]);
  const refusedRead = async () => { throw new Problem(403, { detail: "no access" }); };
  equal([await retryRead(refusedRead, reason => reasons.push(reason), () => false) ?? "none", reasons.at(-1)],
    ["none", "no access"]);
});

await test("A message of the daemon is shown without the parameters of requests", () => {
  for (const [detail, wanted] of [["n is read-only; a caller can write it with ?override=locked", "n is read-only"],
    ['n was changed; "force":true undoes the commit anyway', "n was changed"],
    ["the disk is full; free space", "the disk is full; free space"]])
    equal(new Problem(409, { detail }).message, wanted);
});

await test("A draft keeps the spelling of numbers and the order of members", () => {
  const text = '{"edits":[{"b":9007199254740993,"10":1.0}]}';
  saveDraft("test", parse(text));
  equal(print(readDraft("test")), text);
  saveDraft("test", null);
  equal(readDraft("test"), null);
});

await test("Names that share the text before a dot form a group, and a chain of groups is one group", () => {
  const rows = keys => treeRows(keys.map(key => ({ key })), () => true).map(({ label, level, size }) =>
    `${" ".repeat(level - 1)}${label}${size ? ` (${size})` : ""}`);
  equal(rows(["a.b.c", "a.b.d", "a.e", "f", "g.h"]), ["a (3)", " b (2)", "  c", "  d", " e", "f", "g.h"]);
  equal(rows(["x.y.a", "x.y.b"]), ["x.y (2)", " a", " b"]);
});

await test("The steps between two lists remove and add as few elements as possible; in long lists, only the common beginning and end stay", () => {
  const stepsText = (one, other) => steps([...one], [...other]).map(([kind, text]) =>
    ({ span: "", del: "-", ins: "+" })[kind] + text).join("");
  equal(stepsText("abcdef", "abxdyf"), "ab-c+xd-e+yf");
  equal(stepsText("", "ab"), "+a+b");
  equal(stepsText("ab", ""), "-a-b");
  equal(stepsText("same", "same"), "same");
  const long = Array.from({ length: 1500 }, (_, index) => String(index));
  equal(steps(["a", ...long, "z"], ["a", ...long.toReversed(), "z"]).filter(([kind]) => kind === "span").length, 2);
});

await test("A difference marks the words that differ within a text, and nothing in texts that have little in common", () => {
  // Marked words are in brackets.
  const marks = (one, other) => markedTexts(one, other)?.map(side =>
    side.map(node => typeof node === "string" ? node : `[${node.textContent}]`).join(""));
  equal(marks("http://old.example/x", "http://new.example/x/y"), ["http://[old].example/x", "http://[new].example/x[/y]"]);
  equal(marks("one two", "three four"), undefined);
  const box = document.createElement("div");
  box.append(...difference({ value: "a text\nof lines 1", source: "stored" }, { value: "a text\nof lines 2", source: "stored" })
    .filter(Boolean));
  equal([...box.querySelectorAll("mark")].map(each => each.textContent), ["1", "2"]);
  box.replaceChildren(...difference({ value: "secret one", source: "stored", isSecret: true },
    { value: "secret two", source: "stored", isSecret: true }).filter(Boolean));
  equal(box.querySelectorAll("mark").length, 0);
});

await test("Lines that differ are shown with the two lines before and after them, and a sign for omitted lines", () => {
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index}`);
  const other = lines.with(3, "changed").with(15, "changed, too");
  const shown = text(difference({ value: lines.join("\n"), source: "stored" }, { value: other.join("\n"), source: "stored" }));
  equal(shown.split("\n").map(line => line.slice(0, 9)), ["  line 1", "  line 2", "− line 3", "+ changed", "  line 4", "  line 5",
    "⋯", "  line 13", "  line 14", "− line 15", "+ changed", "  line 16", "  line 17", ""]);
});

await test("Names are sorted by their numbers, the names of a group stay together, and no two names are equal in the order", () => {
  const names = ["svc29", "svc3", "a.b", "a-b", "a", "svc03", "svc12", "svc3.z", "svc03.a", "a.c", "v1.10", "v1.9"];
  const sorted = [...names].sort((one, other) => naturalSortKey(one) < naturalSortKey(other) ? -1 : 1);
  equal(sorted, ["a", "a.b", "a.c", "a-b", "svc3", "svc3.z", "svc03", "svc03.a", "svc12", "svc29", "v1.9", "v1.10"]);
  equal(new Set(names.map(naturalSortKey)).size, names.length);
});

await test("Long base64 is shortened, hexadecimal digits are not, and a difference of long lines shows the parts that differ", () => {
  const content = `a+b/${"QUJD".repeat(40)}Zm9v`, other = `a+b/${"QUJD".repeat(40)}YmE=`;
  equal(text(shownValue({ value: `${content.slice(0, -4)}YmE=`, source: "stored" })), "a+b/QUJDQUJD… (125 bytes as base64)");
  const found = text(difference({ value: content, source: "stored" }, { value: other, source: "stored" }));
  // Both sides together are much shorter than the two texts of 168 characters.
  if (found.length > 140 || !found.includes("Zm9v") || !found.includes("YmE=")) throw new Error(found);
  equal(text(shownValue({ value: "a1".repeat(45), source: "stored" })), "a1".repeat(45), "a text of hexadecimal digits");
  const [lines] = difference({ value: `${"word ".repeat(99)}red`, source: "stored" }, { value: `${"word ".repeat(99)}blue`, source: "stored" });
  equal([...lines.querySelectorAll("mark")].map(each => each.textContent), ["red", "blue"], "the words that differ in a long line");
  if (text(lines).length > 420) throw new Error(text(lines));
});

await test("offsetOf returns the offset of a part of a JSON text, or of the nearest part that contains the pointer", () => {
  const json = '{"a/b": [1, {"~c": true}],\n "d": 2}';
  for (const [pointer, beginning] of [["", '{"a/b"'], ["/a~1b", '"a/b"'], ["/a~1b/1/~0c", '"~c"'], ["/d", '"d"'], ["/d/e", '"d"'],
    ["/a~1b/0", "1,"]])
    if (!json.slice(offsetOf(pointer, json)).startsWith(beginning)) throw new Error(`${pointer}: ${offsetOf(pointer, json)}`);
});

await test("kindOf chooses a form for a schema that describes the parts; fitsForm refuses other types and large values", () => {
  for (const [schema, kind] of [[{ type: "array", items: { type: "object" } }, "list"], [{ type: "array", items: {} }, "json"],
    [{ type: "array", prefixItems: [{}], items: { type: "string" } }, "json"], [{ type: "object", additionalProperties: true }, "json"],
    [{ type: "object", additionalProperties: { type: "integer" } }, "form"]])
    equal(kindOf(schema), kind, JSON.stringify(schema));
  for (const [kind, value, fits] of [["form", {}, true], ["form", [], false], ["form", parse("1.0"), false], ["list", "a", false],
    ["list", Array(600).fill(1), false], ["form", { a: Array(600).fill({}) }, false], ["list", undefined, true]])
    equal(fitsForm(kind, value), fits, `${kind} ${JSON.stringify(value)}`);
  // Numbers stand for schemas of members.
  const schema = { properties: { a: 1 }, patternProperties: { "^x-": 2, "(": 3 }, additionalProperties: false };
  equal(["a", "x-b", "b", "toString"].map(name => memberSchema(schema, name) ?? "none"), [1, 2, "none", "none"]);
});

await test("The names nearest to a mistyped name come first", () => {
  const names = ["player.volume", "player.shuffle", "mixer.volume", "look.theme"];
  equal(nearNames("player.volum", names), ["player.volume"]);
  equal(nearNames("volume", names), ["mixer.volume", "player.volume"]);
  equal(nearNames("Player.Volume", names), ["player.volume", "mixer.volume"]);
  equal(nearNames("something.else", names), []);
});

await test("The time until a deadline has seconds in the last two minutes, and is rounded up", () => {
  const [second, minute, hour] = [1000, 60_000, 3_600_000];
  for (const [span, wanted] of [[-5, "0 s"], [1, "1 s"], [119.2 * second, "2 min"], [118.9 * second, "119 s"], [2 * minute, "2 min"],
    [2 * minute + 1, "3 min"], [119 * minute, "119 min"], [2 * hour, "2 h"], [2 * hour + minute, "2 h 1 min"],
    [48 * hour, "2 d"], [51 * hour, "2 d 3 h"]])
    equal(durationText(span), wanted, `${span} ms:`);
});

await test("The time of the daemon follows the field Date of an answer, unless the clocks differ by less than two seconds", async () => {
  // The field Date has no fraction of a second.
  for (const [ahead, wanted, tolerance] of [[600_000, 600_000, 1500], [-600_000, -600_000, 1500], [1900, 0, 500]]) {
    const headers = { Date: new Date(Date.now() + ahead).toUTCString() };
    await replacing("fetch", async () => new Response("", { headers }), () => send("GET", "v1"));
    const found = daemonTime() - Date.now();
    if (Math.abs(found - wanted) > tolerance) throw new Error(`found ${found}, not ${wanted}`);
  }
});

await test("A caller may end an action with the right to write all its keys, and the right to change the schema if the action changes it", () => {
  const may = (grant, scope) => mayEnd({ caller: new Caller({ name: "me", grants: [grant] }) }, { suites: [scope] });
  for (const [grant, scope, wanted] of [["*:read,write", { suite: "a", keys: ["x", "y"] }, true], ["*:read", { suite: "a", keys: ["x"] }, false],
    ["a/x:read,write", { suite: "a", keys: ["x"] }, true], ["a/x:read,write", { suite: "a", keys: ["x", "y"] }, false],
    ["a/x:read,write", { suite: "a" }, false], ["a:read,write", { suite: "a" }, true], ["a/x.*:read,write", { suite: "a", prefix: "x.y" }, true],
    ["a:read,write", { suite: "a", keys: [], schema: true }, false], ["a:read,write,schema", { suite: "a", keys: [], schema: true }, true]])
    equal(may(grant, scope), wanted, `${grant} ${JSON.stringify(scope)}:`);
});

await test("The reason why an action cannot be ended names its outcome, or says what to do", () => {
  const reason = (status, body) => text([whyNotEnded(new Problem(status, body))].flat(Infinity).map(each => each.textContent === undefined
    ? new Text(each) : each));
  equal(reason(409, { code: "pending_ended", pending: { outcome: "confirmed", endedBy: "token:ci" } }), "The action has already ended. The change is kept by token:ci.");
  equal(reason(409, { code: "pending_ended", pending: { outcome: "reverted" } }), "The action has already ended. The change was reverted.");
  equal(reason(404, { code: "unknown_pending", detail: "there is no p9" }), "The action has already ended. The history shows the commits.");
  equal(reason(0, { code: "network" }), "The daemon does not answer. Try again: nothing is done twice.");
  equal(reason(403, { code: "forbidden", detail: "no right" }), "no right");
});

await test("A store marks the settings that a pending revert restores, and no setting that was changed later", () => {
  const changedKeys = [];
  const store = new Store("s", keys => changedKeys.push(...keys));
  for (const [key, revision] of [["a", 3], ["b", 4], ["c", 9]])
    store.settings.set(key, { suite: "s", key, value: 1, source: "stored", revision, writable: true });
  const action = { id: "p3", kind: "confirm", action: "revert", commit: 3, deadline: "2026-11-26T10:00:00Z" };
  // The list of pending actions is of revision 8. The setting `c` has revision 9, so the list says nothing about it.
  store.setPending([action, { id: "p4", kind: "effective", action: "write" }, { ...action, id: "p9", commit: 9 }], 8);
  equal(["a", "b", "c"].map(key => store.at(key).pending?.id ?? "none"), ["p3", "none", "none"]);
  equal(changedKeys, ["a"]);
  store.setPending([action], 8);
  equal(changedKeys, ["a"], "nothing changed:");
  store.setPending([{ ...action, deadline: "2026-11-26T11:00:00Z" }], 8);
  store.setPending([], 8);
  equal([changedKeys, store.at("a").pending ?? "none"], [["a", "a", "a"], "none"]);
});

return [passed, failed];
