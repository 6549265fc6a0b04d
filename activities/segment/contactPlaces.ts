// Bounds how many segments of one contact run at once. At the contact's lock they wait for each other, each with a connection of the pool:
// where somebody holds the contact for long, as many executions of theirs as the pool has connections (`DATABASE_POOL_SIZE`) would stop all that
// this worker does.
import { createSegmentPlaces, type SegmentPlaces } from './places.ts'

const BOUNDS = {
  // One at work, and one that has the lock as soon as that is done.
  each: 2,
  // Both together are far fewer than a worker runs segments at once, so that others have places meanwhile.
  waiting: 5,
  waitingOfAll: 10,
  wait_ms: 1_000,
  again_ms: 2_000,
  apart_ms: 10,
  // The pace of those before says nothing of the next, since it was the wait for whoever held the contact.
  dense_after_ms: 0,
  dense_ms: 10,
}

/** Their keys are ids of contacts. */
export type ContactPlaces = SegmentPlaces

/** Makes the places of one worker. */
export const createContactPlaces = (): ContactPlaces => createSegmentPlaces(BOUNDS)

/** From this try on the pause grows: the contact is held for long, and each try is six events of a history, which may have 51,200. */
const TRIES_MIN = 10
const PAUSE_MS_MAX = 120_000

/** In how many ms a segment comes again that found no place. @param attempt its tries, this one among them */
export const contactPause_ms = (least_ms: number, attempt: number): number =>
  Math.max(least_ms, Math.min(PAUSE_MS_MAX, least_ms * 2 ** Math.max(0, attempt - TRIES_MIN)))
