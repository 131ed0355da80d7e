import { Link } from "@tanstack/react-router";
import { Empty } from "@/parts/States";

export function NotFound() {
  return (
    <Empty title="There is no such page">
      <Link to="/tasks">All tasks</Link>
    </Empty>
  );
}
