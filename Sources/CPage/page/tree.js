// The tree of settings by the dots in their names.

const orders = new Map();

// A text by which names are sorted: `svc3` comes before `svc29`, and the names of a group are next to each other. Two
// names have the same text only if they are the same.
export function naturalOrder(name) {
  let order = orders.get(name);
  if (order === undefined) {
    // A dot comes before all other characters. The number of digits comes before the digits.
    order = name.replaceAll(".", "\0").replace(/0*(\d+)/g, (all, digits) =>
      String.fromCharCode(48 + digits.length) + digits + String.fromCharCode(all.length - digits.length + 1));
    if (orders.size > 50_000) orders.clear();
    orders.set(name, order);
  }
  return order;
}

// The rows for sorted settings. Settings whose names share the text before a dot form a group.
export function rowsOf(settings, isOpen) {
  const rows = [];
  const add = (from, to, prefix, level) => {
    const siblings = [];
    for (let index = from; index < to;) {
      const { key } = settings[index];
      const dot = key.indexOf(".", prefix);
      let end = index + 1;
      if (dot > prefix) {
        const group = key.slice(0, dot + 1);
        while (end < to && settings[end].key.startsWith(group)) end += 1;
      }
      siblings.push(rows.length);
      if (end - index < 2) {
        rows.push({ id: `k:${key}`, setting: settings[index], label: key.slice(prefix), level });
        index = end;
        continue;
      }
      // A group that contains only one group becomes one row with it.
      const group = shared(key, settings[end - 1].key, dot + 1);
      const opened = isOpen(group);
      rows.push({ id: `g:${group}`, group, label: group.slice(prefix, -1), level, size: end - index, isOpen: opened });
      if (opened) add(index, end, group.length, level + 1);
      index = end;
    }
    siblings.forEach((row, index) => Object.assign(rows[row], { place: index + 1, total: siblings.length }));
  };
  add(0, settings.length, 0, 1);
  return rows;
}

// The common prefix of two names that ends with a dot.
function shared(one, other, atLeast) {
  let length = atLeast;
  for (let index = atLeast; index < one.length && one[index] === other[index]; index += 1)
    if (one[index] === ".") length = index + 1;
  return one.slice(0, length);
}
