// The order in which vitest begins the files of a run: those whose tests are given the longest time first.
import { readFileSync } from 'node:fs'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** A time of at least ten seconds as tests write it, in ms. */
const TIMES = /\b\d{2,3}_000\b/g

/** The longest time that a file names, in ms; 0: none. */
export function longestTime(source: string): number {
  return Math.max(0, ...(source.match(TIMES) ?? []).map((text) => Number(text.replace('_', ''))))
}

/**
 * Files run at the same time, and one that takes minutes must not begin when all others have ended. A file that may take
 * long says so, since its tests need more than the usual time; how long it took last is not known in a fresh clone.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const timed = files.map((file) => {
      const source = readFileSync(file.moduleId, 'utf8')
      return { file, time_ms: longestTime(source), bytes: source.length }
    })
    timed.sort((a, b) => b.time_ms - a.time_ms || b.bytes - a.bytes)
    return timed.map(({ file }) => file)
  }
}
