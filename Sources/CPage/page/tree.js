// The tree of settings by the dots in their names.

// The results of `naturalSortKey`.
const sortKeys = new Map();

// A text by which names are sorted: `svc3` comes before `svc29`, and the names of a group are next to each other. Different
// names have different texts.
export function naturalSortKey(name) {
  let order = sortKeys.get(name);
  if (order === undefined) {
    // The text sorts a dot before all other characters, and a number by the count of its digits, its digits, and then the
    // count of its leading zeros.
    order = name.replaceAll(".", "\0").replace(/0*(\d+)/g, (all, digits) =>
      String.fromCharCode(48 + digits.length) + digits + String.fromCharCode(all.length - digits.length + 1));
    if (sortKeys.size > 50_000) sortKeys.clear();
    sortKeys.set(name, order);
  }
  return order;
}

// The rows for sorted settings. Settings whose names share the text before a dot form a group, which has a row of its own.
// `isOpen(group)` says whether the rows of a group are shown. The `id` of a row begins with "k:" for a key, "g:" for a group.
export function treeRows(settings, isOpen) {
  const rows = [];
  // Adds the rows of some settings. `prefixLength` is the length of the name of their group.
  const add = (from, to, prefixLength, level) => {
    const siblings = [];
    for (let index = from; index < to;) {
      const { key } = settings[index];
      const dot = key.indexOf(".", prefixLength);
      let end = index + 1;
      if (dot > prefixLength) {
        const group = key.slice(0, dot + 1);
        while (end < to && settings[end].key.startsWith(group)) end += 1;
      }
      siblings.push(rows.length);
      if (end - index < 2) {
        rows.push({ id: `k:${key}`, setting: settings[index], label: key.slice(prefixLength), level });
        index = end;
        continue;
      }
      // A group whose only child is another group becomes one row with that group.
      const group = sharedGroup(key, settings[end - 1].key, dot + 1);
      const opened = isOpen(group);
      rows.push({ id: `g:${group}`, group, label: group.slice(prefixLength, -1), level, size: end - index, isOpen: opened });
      if (opened) add(index, end, group.length, level + 1);
      index = end;
    }
    siblings.forEach((row, index) => Object.assign(rows[row], { position: index + 1, total: siblings.length }));
  };
  add(0, settings.length, 0, 1);
  return rows;
}

// The longest common prefix of two names that ends with a dot.
function sharedGroup(one, other, atLeast) {
  let length = atLeast;
  for (let index = atLeast; index < one.length && one[index] === other[index]; index += 1)
    if (one[index] === ".") length = index + 1;
  return one.slice(0, length);
}
