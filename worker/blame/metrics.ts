// Counts what is suspected of ending workers, and what was given up for it.
import { Counter, type Registry } from 'prom-client'
import type { SuspectKind } from '../../rules/wire.ts'

export function createSuspectMetrics(registry: Registry) {
  const counter = (name: string, help: string) =>
    new Counter({ name, help, labelNames: ['kind'], registers: [registry] })
  const noted = counter(
    'dripline_suspects_noted_total',
    'Times that something was noted because it kept or ended a worker',
  )
  const givenUp = counter(
    'dripline_suspects_given_up_total',
    'Suspects that were given up because they ended a worker alone again and again',
  )
  return {
    noted: (kind: SuspectKind) => noted.inc({ kind }),
    gaveUp: (kind: SuspectKind) => givenUp.inc({ kind }),
  }
}
