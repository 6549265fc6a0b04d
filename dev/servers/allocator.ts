// Which malloc API and worker get on this machine: jemalloc where it is installed, as in the image, else the C library's.
import { existsSync } from 'node:fs'

/** As in the image. Of the memory that is free, all but the last five seconds' is given back to the system; few arenas hold less. */
export const JEMALLOC_CONF = 'background_thread:true,dirty_decay_ms:5000,muzzy_decay_ms:0,narenas:4'

/** glibc then gives each piece of 128 KiB and more back to the system as soon as it is free. */
const GLIBC_ENV = {
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '2097152',
}

/** Folders of libraries in Debian and Ubuntu, by the names that Node has for processors. */
const DEBIAN_FOLDERS: Partial<Record<NodeJS.Architecture, string>> = {
  x64: '/usr/lib/x86_64-linux-gnu',
  arm64: '/usr/lib/aarch64-linux-gnu',
}
const FEDORA_FOLDER = '/usr/lib64'

export interface Allocator {
  /** For a report. */
  name: string
  /** What a process's environment needs for it. */
  env: Record<string, string>
  /** What to do for the allocator that the image has; undefined where this is it, or where it is not looked for. */
  advice: string | undefined
}

/** Looks for jemalloc: ld.so would print an error for every process if LD_PRELOAD named a file that is not there. */
export function findAllocator(
  system: { platform: string; arch: NodeJS.Architecture } = process,
  isThere: (file: string) => boolean = existsSync,
): Allocator {
  const known = librariesOf(system)
  const library = known.find(isThere)
  if (library === undefined) {
    const advice =
      'jemalloc, which the image has, is not installed: API and worker keep more memory without it (Debian: apt-get install libjemalloc2)'
    return {
      name: "the C library's",
      env: GLIBC_ENV,
      advice: known.length > 0 ? advice : undefined,
    }
  }
  return {
    name: `jemalloc (${library})`,
    env: { LD_PRELOAD: library, MALLOC_CONF: JEMALLOC_CONF },
    advice: undefined,
  }
}

function librariesOf({ platform, arch }: { platform: string; arch: NodeJS.Architecture }) {
  const debian = DEBIAN_FOLDERS[arch]
  if (platform !== 'linux' || debian === undefined) return []
  return [debian, FEDORA_FOLDER].map((folder) => `${folder}/libjemalloc.so.2`)
}
