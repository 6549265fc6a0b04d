// Loaded into a worker before its own code. It ends its process as SIGKILL does when deliveries or segments pass a trace point
// for the n-th time: the file KILL_PLAN says which and when (`marked 3`; `any` is every point; empty: never) as the process starts.
// A third word is how many ms later it does so.
import { subscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'

const [point = '', count, later_ms] = readFileSync(process.env.KILL_PLAN, 'utf8').split(' ')
let left = Number(count)

if (point !== '') {
  const kill = () => process.kill(process.pid, 'SIGKILL')
  const pass = (passed) => {
    if (point !== 'any' && point !== passed.point) return
    left -= 1
    if (left !== 0) return
    if (later_ms === undefined) kill()
    else setTimeout(kill, Number(later_ms))
  }
  subscribe('dripline:delivery', pass)
  subscribe('dripline:segment', pass)
}
