// The places for requests of one worker. A part of them is only for endpoints whose last try has succeeded, so that those where nobody
// answers, however many, leave room. Of each kind one workspace has no more than are left.
import { placesOfOneMin } from '../../rules/webhooks/outcome.ts'

/** Of all requests of a worker to endpoints. */
const PLACES_MAX = 1_000
/** Of them, those to endpoints that have not succeeded last, or never. */
const OTHERS_MAX = 700

type Kind = 'healthy' | 'others'

/** How many are free now, and which workspaces get none of them. */
type FreePlaces = Record<Kind, { free: number; full: string[] }>

export interface WebhookPlaces {
  /** @returns what gives the place back; null: there is none for that workspace */
  take(isHealthy: boolean, workspaceId: string): (() => void) | null
  free(): FreePlaces
}

export function createWebhookPlaces(all = PLACES_MAX, others = OTHERS_MAX): WebhookPlaces {
  const taken = { healthy: 0, others: 0 }
  const own = { healthy: new Map<string, number>(), others: new Map<string, number>() }
  const left = (kind: Kind): number => {
    const ofAll = all - taken.healthy - taken.others
    return kind === 'healthy' ? ofAll : Math.max(0, Math.min(ofAll, others - taken.others))
  }
  const isFull = (kind: Kind, workspaceId: string) =>
    (own[kind].get(workspaceId) ?? 0) >= Math.max(placesOfOneMin, left(kind))
  const count = (kind: Kind, workspaceId: string, by: 1 | -1) => {
    taken[kind] += by
    const now = (own[kind].get(workspaceId) ?? 0) + by
    if (now === 0) own[kind].delete(workspaceId)
    else own[kind].set(workspaceId, now)
  }
  const free = (kind: Kind) => ({
    free: left(kind),
    full: [...own[kind].keys()].filter((id) => isFull(kind, id)),
  })
  return {
    free: () => ({ healthy: free('healthy'), others: free('others') }),
    take(isHealthy, workspaceId) {
      const kind = isHealthy ? 'healthy' : 'others'
      if (left(kind) === 0 || isFull(kind, workspaceId)) return null
      count(kind, workspaceId, 1)
      let isTaken = true
      return () => {
        if (isTaken) count(kind, workspaceId, -1)
        isTaken = false
      }
    },
  }
}
