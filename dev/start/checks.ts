// Decides from readings whether this machine has enough memory and disk for a start.
import type { Memory } from '../processes/readings.ts'

/** Measured: all processes together take MEMORY_USUAL_MB when they are ready and idle. */
const MEMORY_USUAL_MB = 900
/** Measured in a container without swap: with 550 MB the worker is killed, with 700 MB all come up. */
const MEMORY_MIN_MB = 500
/** Measured: a new cluster, its first write-ahead log and the other files of a first start. */
const DISK_MIN_MB = 150
/** Postgres keeps up to 1 GB of write-ahead log (max_wal_size). */
const DISK_USUAL_MB = 1_500

export interface Finding {
  /** Set if it cannot work: one sentence with the next step. */
  refusal?: string
  /** Set if it may not work. */
  warning?: string
}

/** Refuses by the total memory, because other programs can be paged out; warns by the free memory. */
export function checkMemory({ limit_mb, free_mb }: Memory): Finding {
  const more = 'give this machine or container more'
  if (limit_mb < MEMORY_MIN_MB) {
    return {
      refusal: `Dripline takes about ${MEMORY_USUAL_MB} MB of memory with all its parts, and there are ${limit_mb} MB: ${more}.`,
    }
  }
  if (free_mb >= MEMORY_USUAL_MB) return {}
  return {
    warning: `${free_mb} MB of memory are free and about ${MEMORY_USUAL_MB} MB are needed: if a part is killed, close other programs or ${more}`,
  }
}

/** Checks the disk space. @param free_mb free space of the disk of the data folder */
export function checkDisk(free_mb: number, folder: string): Finding {
  const room = 'make room, or name a folder on another disk with DRIPLINE_DATA'
  if (free_mb < DISK_MIN_MB) {
    return {
      refusal: `A start needs ${DISK_MIN_MB} MB of disk, and ${folder} has ${free_mb} MB free: ${room}.`,
    }
  }
  if (free_mb >= DISK_USUAL_MB) return {}
  return {
    warning: `${folder} has ${free_mb} MB of disk free, and Postgres may grow by ${DISK_USUAL_MB} MB: ${room}`,
  }
}
