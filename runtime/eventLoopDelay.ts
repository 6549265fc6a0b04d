// The metric of how long the event loop was kept from running: the 99.9th percentile, which the default metrics lack.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Gauge, type Registry } from 'prom-client'

const NANOSECONDS_PER_SECOND = 1e9
const PERCENTILE = 99.9
/** A delay is how much later than this after the last look the next one came. */
const LOOK_EVERY_MS = 10

/** Registers the gauge. Each reading begins a new measurement, so it covers the time since the last reading. */
export function collectEventLoopDelay(registry: Registry): void {
  const delays = monitorEventLoopDelay({ resolution: LOOK_EVERY_MS })
  delays.enable()
  new Gauge({
    name: 'dripline_event_loop_delay_p999_seconds',
    help: 'Delay of the event loop since the last reading, 99.9th percentile',
    registers: [registry],
    collect() {
      this.set(delays.count === 0 ? 0 : delays.percentile(PERCENTILE) / NANOSECONDS_PER_SECOND)
      delays.reset()
    },
  })
}
