/** The one place that turns times into words. */

import type { Zone } from "@/preferences";
import { texts } from "@/texts";
import { isDay } from "./days";

const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: string | undefined, withDate: boolean): Intl.DateTimeFormat {
  const key = `${zone}|${withDate}`;
  let found = formats.get(key);
  if (!found) {
    found = new Intl.DateTimeFormat("en-GB", {
      ...(withDate ? { year: "numeric", month: "short", day: "2-digit" } : {}),
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      hourCycle: "h23",
      ...(zone ? { timeZone: zone } : {}),
    });
    formats.set(key, found);
  }
  return found;
}

export function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

export function zoneName(zone: Zone): string | undefined {
  return zone === "utc" ? "UTC" : undefined;
}

/** "14:02:07" today, "03 Nov 2026, 14:02:07" on other days. */
export function clock(iso: string, zone: Zone, now = new Date()): string {
  const time = new Date(iso);
  const name = zoneName(zone);
  const isToday = day(time, name) === day(now, name);
  return format(name, !isToday).format(time);
}

/** As `clock`, with milliseconds: "14:02:07.031". */
export function exact(iso: string, zone: Zone, now = new Date()): string {
  return `${clock(iso, zone, now)}.${String(new Date(iso).getUTCMilliseconds()).padStart(3, "0")}`;
}

export function full(iso: string, zone: string | undefined): string {
  return format(zone, true).format(new Date(iso));
}

function day(time: Date, zone: string | undefined): string {
  return new Intl.DateTimeFormat("en-CA", zone ? { timeZone: zone } : {}).format(time);
}

/** "14:02:07" today, "03 Nov 14:02" on other days. */
export function brief(iso: string, zone: Zone, now = new Date()): string {
  const name = zoneName(zone);
  if (day(new Date(iso), name) === day(now, name)) return clock(iso, zone, now);
  return `${tick(iso, zone, true)} ${tick(iso, zone, false)}`;
}

/** "18 Nov 14:00 – 15:30", "17 Nov 22:00 – 18 Nov 06:00": from one time to another, without what both share. */
export function stretch(from: string, until: string, zone: Zone): string {
  const name = zoneName(zone);
  const isOneDay = day(new Date(from), name) === day(new Date(until), name);
  const whole = (iso: string) => `${tick(iso, zone, true)} ${tick(iso, zone, false)}`;
  return `${whole(from)} – ${isOneDay ? tick(until, zone, false) : whole(until)}`;
}

/** "in 3 min 5 s", "2 h ago", "just now": what is to come is awaited, and so told more exactly. */
export function relative(iso: string, now = Date.now()): string {
  const ms = new Date(iso).getTime() - now;
  const text = span(Math.max(1, Math.round(Math.abs(ms) / 1000)));
  if (Math.abs(ms) < 1000) return texts.parts.justNow;
  return ms > 0 ? texts.parts.inTime(text) : texts.parts.ago(text.split(" ").slice(0, 2).join(" "));
}

/** "14:02", or "03 Nov" where days count: what stands under a chart. */
export function tick(iso: string, zone: Zone, isByDay: boolean): string {
  const name = zoneName(zone);
  const parts: Intl.DateTimeFormatOptions = isByDay
    ? { day: "2-digit", month: "short" }
    : { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  return new Intl.DateTimeFormat("en-GB", { ...parts, ...(name ? { timeZone: name } : {}) }).format(new Date(iso));
}

/** A duration in its two largest units: "850 ms", "4.2 s", "3 min 12 s", "2 d 4 h". */
export function span(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds < 10 && !Number.isInteger(seconds) ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const units: [string, number][] = [
    ["d", 86_400],
    ["h", 3_600],
    ["min", 60],
    ["s", 1],
  ];
  const parts: string[] = [];
  let rest = Math.round(seconds);
  for (const [name, size] of units) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${name}`);
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

/** How long from one time to another, or until now. */
export function between(from: string | null, to: string | null, now = Date.now()): string {
  if (!from) return "–";
  const end = to ? new Date(to).getTime() : now;
  return span(Math.max(0, end - new Date(from).getTime()) / 1000);
}

/** A moment as people type it: "2026-11-18 14:02", in the zone that is shown. */
export function typed(time: number, zone: Zone): string {
  const offset = zone === "utc" ? 0 : new Date(time).getTimezoneOffset() * 60_000;
  return new Date(time - offset).toISOString().slice(0, 16).replace("T", " ");
}

/** The moment that was typed, or null if there is no such moment. */
export function fromTyped(text: string, zone: Zone): Date | null {
  const [, day = "", hour = "", minute = ""] = /^(\d{4}-\d{2}-\d{2})[ T](\d{1,2}):(\d{2})$/.exec(text.trim()) ?? [];
  if (!isDay(day) || Number(hour) > 23 || Number(minute) > 59) return null;
  return new Date(`${day}T${hour.padStart(2, "0")}:${minute}:00${zone === "utc" ? "Z" : ""}`);
}

/** How long something took, in milliseconds; null while it has not ended. */
export function tookMs({ started_at, finished_at }: { started_at: string | null; finished_at: string | null }) {
  return started_at && finished_at ? Date.parse(finished_at) - Date.parse(started_at) : null;
}
