// Which shard of the delivery ledger a recipient's domain belongs to.
import { limits } from './limits.ts'

/** 32-bit FNV-1a of a text's UTF-16 units: the same on every machine, for ever. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i)
    hash = Math.imul(hash, 0x01000193)
  }
  return hash >>> 0
}

/** Shard 0-63 of a recipient address: one destination, one shard, so one lane owns it. */
export function shardOf(address: string): number {
  return fnv1a(address.slice(address.lastIndexOf('@') + 1).toLowerCase()) % limits.shards
}
