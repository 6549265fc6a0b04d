// What statistics of mail count, what they are grouped by, and how time is cut.

export const statCounts = [
  'accepted',
  'sent',
  'delivered',
  'opened',
  'clicked',
  'bounced',
  'complained',
  'unsubscribed',
  'suppressed',
] as const
export type StatCount = (typeof statCounts)[number]

export const statGroups = ['domain', 'tag', 'workflow', 'broadcast', 'provider'] as const
export type StatGroup = (typeof statGroups)[number]

/**
 * The group of a provider that we do not know, and of values that an hour has no room for. Mail without a tag, workflow or
 * broadcast is in no group.
 */
export const OTHER_GROUP = 'other'

export const HOUR_MS = 60 * 60 * 1000

/** Hours of one bucket. */
export const statIntervals = { hour: 1, day: 24 } as const
export type StatInterval = keyof typeof statIntervals

/** Hours since 1970 (UTC), from `from` to before `to`. */
export interface StatHours {
  from: number
  to: number
}

/** The whole buckets that have a part of the time from `since_ms` to before `until_ms`. */
export function hoursOf(since_ms: number, until_ms: number, interval: StatInterval): StatHours {
  const per = statIntervals[interval]
  const bucket_ms = per * HOUR_MS
  return {
    from: Math.floor(since_ms / bucket_ms) * per,
    to: Math.ceil(until_ms / bucket_ms) * per,
  }
}
