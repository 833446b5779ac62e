// Profiles itself for two seconds of CPU time with Pyroscope's SDK and pushes to the server of the argument.
const Pyroscope = require('@pyroscope/nodejs');

Pyroscope.init({
  serverAddress: process.argv[2],
  appName: 'nodeapp',
  tags: { zone: 'a' },
  flushIntervalMs: 2000,
  wall: { samplingIntervalMicros: 10000, collectCpuTime: true },
});
Pyroscope.start();
const end = 2e6; // of the process, in microseconds

function spin() {
  const until = Date.now() + 50;
  let x = 0;
  while (Date.now() < until) x += Math.sqrt(x + 1);
  return x;
}

(function loop() {
  spin();
  const { user, system } = process.cpuUsage();
  if (user + system < end) setImmediate(loop);
  else Pyroscope.stop().then(() => process.exit(0));
})();
