// Decides which shard the deliveries to a destination belong to.
import { limits } from './limits.ts'

/** 32-bit FNV-1a over the UTF-16 units of a text. It must never change, because shards are stored. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i)
    hash = Math.imul(hash, 0x01000193)
  }
  return hash >>> 0
}

/** Shard 0-63 of a destination, in lower case: so one lane sends to it. */
export function shardOf(destination: string): number {
  return fnv1a(destination) % limits.shards
}
