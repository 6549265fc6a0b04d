// Loaded into a worker before its own code. It ends its process as SIGKILL does when deliveries pass a trace point for the
// n-th time: the file KILL_PLAN says which and when (`marked 3`; `any` is every point; empty: never) as the process starts.
import { subscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'

const [point = '', count] = readFileSync(process.env.KILL_PLAN, 'utf8').split(' ')
let left = Number(count)

if (point !== '') {
  subscribe('dripline:delivery', (passed) => {
    if (point !== 'any' && point !== passed.point) return
    left -= 1
    if (left === 0) process.kill(process.pid, 'SIGKILL')
  })
}
