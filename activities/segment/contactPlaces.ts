// Bounds how many segments of one contact run at once. At the contact's lock they wait for each other, each with a connection of the pool:
// where somebody holds the contact for long, twenty executions of theirs would stop all that this worker does.
import { createSegmentPlaces, type SegmentPlaces } from './places.ts'

const BOUNDS = {
  // One at work, and one that has the lock as soon as that is done.
  each: 2,
  waiting: 100,
  wait_ms: 1_000,
  again_ms: 2_000,
  apart_ms: 10,
  // How long somebody held the contact says nothing about the next ones.
  dense_after_ms: 0,
  dense_ms: 10,
}

/** Their keys are ids of contacts. */
export type ContactPlaces = SegmentPlaces

/** Makes the places of one worker. */
export const createContactPlaces = (): ContactPlaces => createSegmentPlaces(BOUNDS)
