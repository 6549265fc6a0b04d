// Bounds how many segments of one contact run at once. At the contact's lock they wait for each other, each with a connection of the pool:
// where somebody holds the contact for long, as many executions of theirs as the pool has connections (`DATABASE_POOL_SIZE`) would stop all that
// this worker does.
import { createPlaces } from '../places.ts'

const BOUNDS = {
  // One at work, and one that has the lock as soon as that is done.
  each: 2,
  // Both together are far fewer than a worker runs segments at once, so that others have places meanwhile.
  waiting: 5,
  waitingOfAll: 10,
  wait_ms: 1_000,
  again_ms: 2_000,
  // The pace of those before says nothing of the next, since it was the wait for whoever held the contact.
  dense_after_ms: 0,
  dense_ms: 10,
}

/** Makes the places of one worker. Their keys are ids of contacts. */
export const createContactPlaces = () => createPlaces(BOUNDS)
