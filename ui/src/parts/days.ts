/** Days of the calendar, written as "2026-11-18", and what can be counted in them. They belong to no time zone. */
import { texts } from "@/texts";

const DAY_MS = 86_400_000;

export const WEEKDAYS: readonly string[] = [
  texts.parts.monday,
  texts.parts.tuesday,
  texts.parts.wednesday,
  texts.parts.thursday,
  texts.parts.friday,
  texts.parts.saturday,
  texts.parts.sunday,
];

function dateOf(day: string): Date {
  return new Date(`${day}T00:00:00Z`);
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}

export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = dateOf(text);
  return !Number.isNaN(date.getTime()) && dayOf(date) === text;
}

export function plusDays(day: string, count: number): string {
  return dayOf(new Date(dateOf(day).getTime() + count * DAY_MS));
}

/** The same day of another month, or the last day of a month that is too short for it. */
export function plusMonths(day: string, count: number): string {
  const date = dateOf(day);
  const wanted = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + count);
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(wanted, last));
  return dayOf(date);
}

/** From Monday, 0, to Sunday, 6. */
export function weekday(day: string): number {
  return (dateOf(day).getUTCDay() + 6) % 7;
}

/** The weeks, from Monday on, in which a day of the month lies. */
export function weeksOf(day: string): string[][] {
  const first = `${day.slice(0, 8)}01`;
  const end = plusMonths(first, 1);
  const weeks: string[][] = [];
  for (let start = plusDays(first, -weekday(first)); start < end; start = plusDays(start, 7))
    weeks.push(Array.from({ length: 7 }, (_, place) => plusDays(start, place)));
  return weeks;
}

/** "November 2026". */
export function monthName(day: string): string {
  return new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" }).format(dateOf(day));
}

/** "Wednesday, 18 November 2026". */
export function dayName(day: string): string {
  return `${WEEKDAYS[weekday(day)]}, ${Number(day.slice(8))} ${monthName(day)}`;
}
