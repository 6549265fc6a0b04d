// The places for requests of one worker. A part of them is only for endpoints whose last try has succeeded, so that those where nobody
// answers, however many, leave room.

/** Of all requests of a worker to endpoints. */
const PLACES_MAX = 1_000
/** Of them, those to endpoints that have not succeeded last, or never. */
const OTHERS_MAX = 700

export interface WebhookPlaces {
  /** @returns what gives the place back; null: there is none */
  take(isHealthy: boolean): (() => void) | null
  /** How many are free now. */
  free(): { healthy: number; others: number }
}

export function createWebhookPlaces(all = PLACES_MAX, others = OTHERS_MAX): WebhookPlaces {
  const taken = { healthy: 0, others: 0 }
  const free = () => {
    const left = all - taken.healthy - taken.others
    return { healthy: left, others: Math.max(0, Math.min(left, others - taken.others)) }
  }
  return {
    free,
    take(isHealthy) {
      const kind = isHealthy ? 'healthy' : 'others'
      if (free()[kind] === 0) return null
      taken[kind] += 1
      let isTaken = true
      return () => {
        if (isTaken) taken[kind] -= 1
        isTaken = false
      }
    },
  }
}
