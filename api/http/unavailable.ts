// The answers to requests that the service could not serve in time: 503, and 408 for a body that came too slowly.
import { ApiError } from './errors.ts'

/** The header `Retry-After` of every 503, in seconds. */
export const RETRY_AFTER_S = '5'

/** The text of each kind of 503. `docs/troubleshooting.md` says of each what an operator looks at. */
export const unavailableTexts = {
  database_away: 'Cannot reach the database now; try again shortly',
  temporal_away: 'Cannot reach Temporal now; try again shortly',
  locked: 'Another request holds what this one needs; nothing was changed; try again shortly',
  crowded:
    'Too many requests like this one wait for the database; nothing was changed; try again shortly',
  slow: 'This took the database too long; nothing was changed; try again shortly',
  rendering: 'Too much is being rendered now; try again shortly',
  bodies: 'The service is reading as many large bodies as it can; try again shortly',
  answers: 'Too many answers are being made or have not been read; read them, then try again',
  client_gone: 'The client went away',
} as const

/** Why a request was refused that may succeed later: what the log and the metric of refusals say. */
export type RefusedReason = keyof typeof unavailableTexts | 'body_too_slow'

export const refusedReasons = [
  ...(Object.keys(unavailableTexts) as (keyof typeof unavailableTexts)[]),
  'body_too_slow',
] as const satisfies readonly RefusedReason[]

/** An answer that asks its caller to try again, or to send faster. */
export class Refused extends ApiError {
  readonly reason: RefusedReason

  constructor(reason: RefusedReason, ...more: ConstructorParameters<typeof ApiError>) {
    super(...more)
    this.reason = reason
  }
}

/** 503 `service_unavailable`. */
export const serviceUnavailable = (reason: keyof typeof unavailableTexts) =>
  new Refused(reason, 503, 'service_unavailable', unavailableTexts[reason], {
    headers: { 'Retry-After': RETRY_AFTER_S },
  })

/** 408 `body_too_slow`. @param text which pace was asked for */
export const bodyTooSlow = (text: string) =>
  new Refused('body_too_slow', 408, 'body_too_slow', text)
