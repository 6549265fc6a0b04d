// When a schedule is due: its next times after an instant.
import { midnightOf, readMoment } from './clock.ts'
import { type Cron, parseCron } from './cron.ts'
import { DAY_MS, firstInstant, wallAt } from './zones.ts'

export interface Schedule {
  /** Once: ms since 1970 or ISO 8601; without an offset a time on the clocks of the zone. */
  at?: number | string
  /** Again and again: five fields, times on the clocks of the zone. */
  cron?: string
  /** A zone that exists, as `zoneNamed` gives it. */
  timezone: string
}

/** 29 February of 2096 is eight years before the next one. */
const YEARS_AHEAD = 9

/**
 * The next `count` instants, in ms and in order, at which a schedule is due after an instant; fewer where it has no more within
 * nine years, or cannot be read. A time that the clocks leave out in spring is the first instant after the gap, and one that they
 * show twice in autumn is the first; times that so fall together are one.
 */
export function nextTimes(
  { at, cron, timezone }: Schedule,
  after: number,
  count: number,
): number[] {
  if (count < 1) return []
  if (at !== undefined) {
    const moment = readMoment(at, timezone)
    return moment && moment.at > after ? [moment.at] : []
  }
  const parsed = cron === undefined ? null : parseCron(cron)
  return parsed?.cron ? cronTimes(parsed.cron, timezone, after, count) : []
}

function cronTimes(cron: Cron, zone: string, after: number, count: number): number[] {
  const times: number[] = []
  const now = wallAt(after, zone)
  const first = midnightOf(now)
  for (let midnight = first; midnight < first + YEARS_AHEAD * 366 * DAY_MS; midnight += DAY_MS) {
    const day = new Date(midnight)
    if (!cron.isOn(day.getUTCDate(), day.getUTCMonth() + 1, day.getUTCDay())) continue
    for (const wall of wallsOf(cron, midnight)) {
      // What the clocks show now, or have shown before, is over.
      if (wall <= now) continue
      const time = firstInstant(wall, zone)
      if (time <= (times.at(-1) ?? after)) continue
      times.push(time)
      if (times.length === count) return times
    }
  }
  return times
}

function* wallsOf({ hours, minutes }: Cron, midnight: number): Generator<number> {
  for (const hour of hours) {
    for (const minute of minutes) yield midnight + (hour * 60 + minute) * 60_000
  }
}

/** A time that is missed for so long is not caught up. */
export const CAUGHT_UP_MS = 60 * 60 * 1000

/** What a schedule has to do: carry out a time now, or wait for the next one. */
export type Due = { kind: 'due'; at: number } | { kind: 'next'; at: number }

/**
 * What is due at `now` of a schedule whose times up to `after` are done, all in ms. Of several times that are due the latest alone
 * counts, and none that is late by an hour or more.
 * @param waitedSince since when the members of the time before were being started: times that came meanwhile have waited, and
 *   are not late; null: nothing was being done
 * @returns null if it has no further time
 */
export function dueTime(
  schedule: Schedule,
  after: number,
  now: number,
  waitedSince: number | null = null,
): Due | null {
  const late = now - CAUGHT_UP_MS
  const from = Math.max(after, Math.min(late, waitedSince === null ? late : waitedSince - 1))
  const most = Math.max(0, Math.ceil((now - from) / 60_000)) + 1
  const times = nextTimes(schedule, from, most)
  const due = times.filter((time) => time <= now).at(-1)
  if (due !== undefined) return { kind: 'due', at: due }
  const [next] = times
  return next === undefined ? null : { kind: 'next', at: next }
}
