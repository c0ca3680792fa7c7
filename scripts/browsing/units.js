// Unit tests of the modules of the page. scripts/check-page evaluates this text as the body of an async function, which
// returns the number of tests that passed and the messages of the tests that failed.
const { parse, print, mistake, typeOf, membersOf } = await import("./exact.js");

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

const nested = depth => "[".repeat(depth) + "]".repeat(depth);

await test("A number and the order of members keep their spelling", () => {
  for (const text of ['{"b":1,"10":1.0,"9":{"z":9007199254740993,"1":2.5}}', "[1e2,-0,1.50,0.1]", '{"__proto__":{"a":1}}'])
    equal(print(parse(text)), text);
  equal(membersOf(parse('{"b":1,"10":2}')).map(([name]) => name), ["b", "10"]);
  equal(typeOf(parse("1.0")), "number");
  equal(typeOf(parse("9007199254740993")), "integer");
});

await test("A text that is not JSON is refused with its line and column", () => {
  for (const [text, place] of [['{"a": 1,\n "a": 2}', "line 2, column 2"], ["[1,\n2,,3]", "line 2, column 3"],
    ["1e999", "line 1, column 1"], ["99999999999999999999", "line 1, column 1"], ['"\\ud800"', "line 1, column 1"],
    ['{"a"', "line 1, column 5"]])
    if (!mistake(text)?.words.includes(place)) throw new Error(`${text}: ${mistake(text)?.words}`);
  equal(mistake('{"a": [true, null]}'), null);
});

await test("An answer of the daemon is parsed however deep a value is; a person may write as deep as a commit may hold", () => {
  const answer = `{"keys":[{"value":${nested(128)}}]}`;
  equal(print(parse(answer)), answer);
  equal(mistake(nested(125)), null);
  if (!mistake(nested(126))?.words.includes("125 levels")) throw new Error(String(mistake(nested(126))?.words));
});

return [passed, failed];
