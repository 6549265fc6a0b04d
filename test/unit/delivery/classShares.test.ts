// What a claim looks for in each class: its share while others want theirs too, else all places.
import { expect, test } from 'vitest'
import type { Walked } from '../../../db/deliveries/lines.ts'
import { createLines } from '../../../delivery/lane/lines.ts'

const walkedOf = (place: number, after: string): Walked => ({
  class: place,
  after,
  taken: 50,
  turns: [],
  lines: 3,
  cut: false,
  full: [],
})

/** A lane whose claims are of up to 200. */
function begin() {
  const lines = createLines({ from: 0, to: 64 })
  const mostAfter = (walked: Walked[], due: number) => {
    lines.learn(walked, due, 200)
    return lines.next(200).most
  }
  return { lines, mostAfter }
}

test('classes that have more keep their shares while claims are almost full', () => {
  const { lines, mostAfter } = begin()
  const crowded = [0, 1, 2].map((place) => walkedOf(place, 'ws_1'))
  expect(lines.next(200).most).toEqual([200, 200, 200])
  expect(mostAfter(crowded, 200)).toEqual([120, 60, 20])
  expect(mostAfter(crowded, 185), 'a few fell out').toEqual([120, 60, 20])
  expect(mostAfter(crowded, 100), 'half fell out').toEqual([200, 120, 40])
  const oneEnded = [walkedOf(0, ''), ...crowded.slice(1)]
  expect(mostAfter(oneEnded, 190), 'one begins its next lap').toEqual([120, 60, 20])
  expect(mostAfter(oneEnded, 190), 'it has ended').toEqual([200, 150, 50])
})

test('classes that all go on look for as many times their shares as would have filled the claim', () => {
  const { mostAfter } = begin()
  const goingOn = [0, 1, 2].map((place) => walkedOf(place, 'ws_1'))
  expect(mostAfter(goingOn, 200)).toEqual([120, 60, 20])
  expect(mostAfter(goingOn, 125)).toEqual([192, 96, 32])
  expect(mostAfter(goingOn, 100), 'still too few').toEqual([200, 192, 64])
  expect(mostAfter(goingOn, 20), 'each looks for all').toEqual([200, 200, 200])
  expect(mostAfter(goingOn, 200), 'enough was found').toEqual([120, 60, 20])
  expect(mostAfter([walkedOf(0, ''), ...goingOn.slice(1)], 20), 'one had no more').toEqual([
    200, 200, 200,
  ])
})

test('a class that comes to its last workspace keeps its share for its next lap, once', () => {
  const lines = createLines({ from: 0, to: 64 })
  const others = [1, 2].map((place) => walkedOf(place, 'ws_1'))
  lines.learn([walkedOf(0, 'ws_8'), ...others], 200, 200)
  const last = { ...walkedOf(0, ''), taken: 20 }
  lines.learn([last, ...others], 100, 200)
  expect(lines.next(200).most, 'its lap found something').toEqual([120, 60, 20])
  lines.learn([last, ...others], 100, 200)
  expect(lines.next(200).most, 'a whole lap in one claim has no more').toEqual([200, 200, 200])
})

test('a class that took a step more than its share does not count against the others', () => {
  const lines = createLines({ from: 0, to: 64 })
  const others = [1, 2].map((place) => walkedOf(place, 'ws_1'))
  lines.learn([walkedOf(0, 'ws_8'), ...others], 200, 200)
  lines.learn([{ ...walkedOf(0, ''), taken: 139 }, ...others], 150, 200)
  expect(lines.next(200).most).toEqual([120, 60, 20])
})

test('a claim that looked for all places in each class says nothing of how many times their shares would do', () => {
  const { mostAfter } = begin()
  const goingOn = [0, 1, 2].map((place) => walkedOf(place, 'ws_1'))
  for (const due of [40, 80, 125]) expect(mostAfter(goingOn, due)).toEqual([200, 200, 200])
  expect(mostAfter(goingOn, 200)).toEqual([120, 60, 20])
  expect(mostAfter(goingOn, 125)).toEqual([192, 96, 32])
})
