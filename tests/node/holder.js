// Takes the lock, says so, and holds it until its input ends. usage: node holder.js FILE
const lockfile = require("proper-lockfile");
lockfile.lock(process.argv[2]).then((release) => {
  console.log("held");
  process.stdin.resume();
  process.stdin.on("end", () => release().then(() => process.exit(0)));
});
