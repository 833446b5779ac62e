// Work for a trace of Node, which node.json has:
//
//	node --trace-events-enabled --trace-event-categories v8,node,node.async_hooks --trace-event-file-pattern node.json node.js
const fs = require('fs')
let n = 0
const timer = setInterval(() => {
  fs.readFileSync(__filename)
  const made = []
  for (let i = 0; i < 5e4; i++) made.push({ i })
  if (++n > 8) clearInterval(timer)
}, 5)
