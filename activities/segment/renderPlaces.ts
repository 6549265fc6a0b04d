// Bounds how many segments of one workspace are with the renderer at once: each of them holds one of the few places that
// a worker has for segments, so one customer's slow templates would otherwise stop everybody's executions.
import { type Bounds, createPlaces, type Places } from '../places.ts'

const usual: Omit<Bounds, 'waiting' | 'waitingOfAll'> = {
  each: 4,
  wait_ms: 500,
  again_ms: 4_000,
  apart_ms: 10,
  dense_after_ms: 120_000,
  dense_ms: 50,
}

/** Their keys are ids of workspaces. */
export type RenderPlaces = Places

/** Makes the places of one worker. As many may wait as are inside. */
export function createRenderPlaces(bounds: Partial<typeof usual> = {}): RenderPlaces {
  const all = { ...usual, ...bounds }
  return createPlaces({ ...all, waiting: all.each, waitingOfAll: Number.POSITIVE_INFINITY })
}
