// What became of a walk through the lines, for the next one.

import { classPlaces } from '../../rules/mail/classes.ts'
import { type LinePlace, type LineWalk, STEPS_MAX, type Walked, type WalkStep } from './lines.ts'

/**
 * What became of a walk, class by class.
 * @param steps of all classes
 * @param picked the ids that were taken of those that the steps have found
 */
export function toWalked(
  steps: readonly WalkStep[],
  picked: ReadonlySet<number>,
  walk: LineWalk,
): Walked[] {
  const isFull = fullDestinations(steps, walk)
  return classPlaces.map((place) => {
    const own = steps.filter((step) => step.class === place).sort((a, b) => a.n - b.n)
    return walkedClass(place, own, picked, walk.perLine, isFull)
  })
}

/**
 * What was found and not picked comes first in the next walk: only steps up to the last one of which some were picked count.
 * @param steps in their order; the first says where the walk began
 */
function walkedClass(
  place: number,
  steps: readonly WalkStep[],
  picked: ReadonlySet<number>,
  perLine: number,
  isFull: (destination: string) => boolean,
): Walked {
  const taken = steps.flatMap(({ ids, destinations }) =>
    destinations.filter((_, i) => picked.has(ids[i] ?? 0)),
  )
  const end = steps.at(-1)
  const lastPicked = steps.findLast(({ ids }) => ids.some((id) => picked.has(id)))
  const hasAll = taken.length === (end?.got ?? 0)
  const counted = steps.filter(({ n }) => n > 0 && (hasAll || n <= (lastPicked?.n ?? 0)))
  const isStopped = end !== undefined && (end.n >= STEPS_MAX || end.got >= end.most)
  /** Whether the workspace of this last step of it goes on behind it. */
  const goesOn = (step: WalkStep) =>
    step.turn <= 0 || (step === end && isStopped) || (step === lastPicked && !hasAll)
  const lastSteps = new Map(counted.map((step) => [step.workspace_id, step]))
  return {
    class: place,
    after: hasAll && !isStopped ? '' : ((counted.at(-1) ?? steps[0])?.workspace_id ?? ''),
    taken: taken.length,
    turns: [...lastSteps].map(([workspace_id, step]) => ({
      workspace_id,
      place: goesOn(step) ? placeOf(step) : null,
    })),
    lines: new Set(taken).size,
    cut: counted.some(
      ({ turn, ids, got, most }) => turn <= 0 || ids.length >= perLine || got >= most,
    ),
    full: [
      ...new Set([
        ...steps.flatMap(({ full_ones }) => full_ones),
        ...steps.flatMap(({ destinations }) => destinations.filter(isFull)),
      ]),
    ],
  }
}

/** A step before the first line of a workspace has the shard before those of the lane. */
const placeOf = ({ shard, destination }: WalkStep): LinePlace => ({
  shard: shard ?? -1,
  destination,
})

/** Finds which destinations got all of their room: as much was found for them, in all classes, as they have room for. */
function fullDestinations(steps: readonly WalkStep[], { rooms }: LineWalk) {
  const found = new Map<string, number>()
  for (const one of steps.flatMap(({ destinations }) => destinations)) {
    found.set(one, (found.get(one) ?? 0) + 1)
  }
  return (one: string) =>
    rooms !== undefined && (found.get(one) ?? 0) >= (rooms.known.get(one) ?? rooms.other)
}
