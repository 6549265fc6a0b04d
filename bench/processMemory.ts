// What a process holds and held at most, from /proc.
import { readFileSync, writeFileSync } from 'node:fs'
import { rounded } from './report.ts'

const KIBIBYTES_PER_MB = 1024

/** Resident memory of a process, and its peak since the start or the last reset, in MB. */
export function memoryOf(pid: number): { rss: number; peak: number } {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  const read = (name: string) => {
    const kb = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]
    if (kb === undefined) throw new Error(`/proc/${pid}/status has no ${name}`)
    return rounded(Number(kb) / KIBIBYTES_PER_MB)
  }
  return { rss: read('VmRSS'), peak: read('VmHWM') }
}

/** Resets the peak of a process (proc(5), clear_refs). @returns resident memory now, MB */
export function resetPeak(pid: number): number {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  return memoryOf(pid).rss
}
