// Decides which shard the deliveries to a domain belong to.
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

/**
 * Shard 0-63 of a recipient address. All addresses of a domain have the same shard, so one lane sends to the
 * domain.
 */
export function shardOf(address: string): number {
  return fnv1a(address.slice(address.lastIndexOf('@') + 1).toLowerCase()) % limits.shards
}
