// A writer as Claude Code has them: proper-lockfile around read, push and write.
// usage: node writer.js FILE NAME COUNT in-place|rename
const fs = require("fs");
const lockfile = require("proper-lockfile");

const [file, name, count, manner] = process.argv.slice(2);

async function append(number) {
  const release = await lockfile.lock(file, { retries: { retries: 2000, factor: 1.2, minTimeout: 1, maxTimeout: 20 } });
  try {
    const rows = JSON.parse(fs.readFileSync(file, "utf8"));
    rows.push({
      from: name, text: `message ${number}`, timestamp: new Date().toISOString(),
      msgV: 1, msg_id: `${name}-${number}`, type: "message", read: false,
    });
    const text = JSON.stringify(rows, null, 2);
    if (manner === "in-place") {
      fs.writeFileSync(file, text);
    } else {
      fs.writeFileSync(`${file}.${name}`, text);
      fs.renameSync(`${file}.${name}`, file);
    }
  } finally {
    await release();
  }
}

(async () => {
  for (let number = 0; number < Number(count); number++) await append(number);
})().catch((error) => { console.error(error); process.exit(1); });
